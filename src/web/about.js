/* about.js -- the participant's page, in steps: what it is about and how private it is, the form with a
 * preview of what will leave, thanks; whom one trusts; and everything else for the curious. */
import * as api from './common/api.js';
import { BrowserDevice, Refused, receive } from './participant/browser_device.js';
import { ASKS, REFUSES, contributeSection } from './participant/contribute.js';
import { element, nextTask, section } from './common/dom.js';
import { gauge } from './study/gauge.js';
import { guaranteeSection } from './study/guarantee.js';
import { leavingPart } from './participant/leaving.js';
import { isBallot, timesAsked } from './common/study_terms.js';
import { featureTable } from './study/terms.js';

const TRUST = 'trust';
const main = document.getElementById('main');
const [, , id] = location.pathname.split('/');

function headOf(study) {
    document.title = `Taking part: ${study.title} · tremolo`;
    return element('div', { class: 'head' },
        element('p', { class: 'crumb' }, element('a', { href: `/studies/${id}`, text: 'What this study has learnt so far' })),
        element('h1', { text: study.title, dir: 'auto' }),
        element('p', { class: 'purpose', text: study.purpose, dir: 'auto' }));
}

/* One paragraph and the gauge; the words are the server's, checked against the study's numbers. */
function shortSection(promise) {
    const shown = gauge();
    shown.update(promise);
    const amber = promise.strength === 'hardly' ? ' caution' : '';
    return section('In short', element('div', { class: 'pair' },
        element('div', {}, element('p', { class: `lead${amber}`, text: promise.participant, dir: 'auto' }),
            element('p', { class: 'facts' }, 'All of this holds if this page is honest (', element('a', { href: `#${TRUST}`, text: 'see below' }), ').')), shown.node));
}

/* `isAsked`: this browser gives something, or has given it. */
function trustSection(trusted, isAsked) {
    const program = isBallot(trusted.terms) ? 'draws the reply' : 'adds the noise';
    const checked = trusted.isSigned
        ? 'This page recomputed the study’s id from its terms, and it is the one in the address above; the signature of the server’s key holds, and the promise above follows from the study’s numbers.'
        : 'This page recomputed the study’s id from its terms, and it is the one in the address above; the promise above follows from the study’s numbers. This browser cannot check the server’s signature.';
    const node = section('Whom you trust',
        element('p', { class: 'caution', text: `This page, with the program that ${program}, comes from the very server that collects the reports. `
            + 'Whoever runs it could send you another page, one that sends your answers as they are, and you would not see the difference. '
            + 'If you would rather not rely on that, take part with a program that you or somebody you trust has checked, such as “tremolo report”.' }),
        element('p', { text: checked }),
        ...(isAsked ? [element('p', { text: 'Your browser keeps the record of what it has given under this site’s data. Clearing that data makes it forget; '
            + 'contributing again afterwards would give away more than is promised here.' })] : []));
    node.id = TRUST;
    return node;
}

function askedPart(study) {
    return element('details', {}, element('summary', { text: 'What is asked, and in which bounds' }),
        element('p', { text: `These values, ${timesAsked(study)}. From the answers of many people the study learns how ${study.response.name} goes with the others.` }),
        featureTable(study),
        element('p', { class: 'facts id' }, 'The study’s id is a hash of these terms; nobody can change them and keep it: ',
            element('a', { href: `/v1/studies/${id}` }, element('code', { text: id }))));
}

/* The curve draws itself once there is room for it, when it is opened. */
function attackerPart(study, promise) {
    const guarantee = guaranteeSection(study);
    const node = element('details', {}, element('summary', { text: 'What an attacker could learn' }), ...guarantee.node.childNodes);
    node.querySelector('h2').remove();
    guarantee.update({ estimate: { guarantee: promise } });
    return node;
}

/* Everything is ready before anything is shown, so that nothing jumps; made in several tasks. */
async function build() {
    const [published, promise] = await Promise.all([api.published(id), api.guarantee(id)]);
    const trusted = await receive(published, id);
    const study = trusted.terms;
    const device = new BrowserDevice(trusted);
    if (!await device.promises(promise)) {
        throw new Refused('The server’s words promise something else than the study’s numbers give. Nothing is asked.');
    }
    const contribute = contributeSection(study, device, id);
    const begun = contribute.begin();
    await nextTask();
    const short = shortSection(promise);
    await nextTask();
    const curious = section('For the curious', leavingPart(study, device), attackerPart(study, promise), askedPart(study));
    const found = await begun;
    /* Before a form people read what it is about; a refusal or thanks come first. */
    const first = found === ASKS ? [short, contribute.node] : [contribute.node, short];
    main.replaceChildren(headOf(study), ...first, trustSection(trusted, found !== REFUSES), curious);
}

build().catch((error) => {
    const words = error instanceof Refused ? error.message : `This page cannot be shown now, and nothing was sent: ${error.message}.`;
    main.replaceChildren(element('p', { class: 'caution', role: 'alert', text: words }),
        element('p', {}, element('button', { type: 'button', class: 'chip', text: 'Try again', onclick: () => location.reload() })));
});
