/* about.js -- the participant's page: what is asked, what leaves the device, what
 * could be learnt from it, whom one trusts, and the browser device itself. */
import * as api from './api.js';
import { BrowserDevice, Refused, receive } from './browser_device.js';
import { contributeSection } from './contribute.js';
import { element, section } from './dom.js';
import { guaranteeSection } from './guarantee.js';
import { leavingSection } from './leaving.js';
import { timesAsked } from './study_terms.js';
import { featureTable } from './terms.js';

const main = document.getElementById('main');
const [, , id] = location.pathname.split('/');

function headOf(study) {
    document.title = `Taking part: ${study.title} · tremolo`;
    return element('div', { class: 'head' },
        element('p', { class: 'crumb' }, element('a', { href: `/studies/${id}`, text: 'What this study has learnt so far' })),
        element('h1', { text: study.title }),
        element('p', { class: 'purpose', text: study.purpose }));
}

function askedSection(study) {
    return section('What is asked',
        element('p', { text: `These values, ${timesAsked(study)}. From the answers of many people the study learns how ${study.response.name} goes with the others; what it could tell about you alone is bounded below.` }),
        featureTable(study),
        element('p', { class: 'facts id' }, 'The study’s id is a hash of these terms; nobody can change them and keep it: ',
            element('a', { href: `/v1/studies/${id}` }, element('code', { text: id }))));
}

function trustSection(trusted) {
    const checked = trusted.isSigned
        ? 'This page recomputed the study’s id from its terms, and it is the one in the address above; the signature of the server’s key holds, and the promise above follows from the study’s numbers.'
        : 'This page recomputed the study’s id from its terms, and it is the one in the address above; the promise above follows from the study’s numbers. This browser cannot check the server’s signature.';
    return section('Whom you trust',
        element('p', { class: 'caution', text: 'This page, with the program that adds the noise, comes from the very server that collects the reports. '
            + 'Whoever runs it could send you another page, one that sends your answers as they are, and you would not see the difference. '
            + 'If you would rather not rely on that, take part with a program that you or somebody you trust has checked, such as “tremolo report”.' }),
        element('p', { text: checked }),
        element('p', { text: 'Your browser keeps the record of what it has given under this site’s data. Clearing that data makes it forget; '
            + 'contributing again afterwards would give away more than is promised here.' }));
}

async function build() {
    const published = await api.published(id);
    const trusted = await receive(published, id);
    const study = trusted.terms;
    const promise = await api.guarantee(id);
    const device = new BrowserDevice(trusted);
    if (!await device.promises(promise)) {
        throw new Refused('The server’s words promise something else than the study’s numbers give. Nothing is asked.');
    }
    const guarantee = guaranteeSection(study);
    const words = promise.participant;
    guarantee.node.querySelector('h2').after(element('p', { class: 'lead', text: words }));
    const leaving = await leavingSection(study, device);
    const contribute = contributeSection(study, device);
    main.append(headOf(study), askedSection(study), leaving, guarantee.node, trustSection(trusted), contribute.node);
    guarantee.update({ estimate: { guarantee: promise } });
    await contribute.begin();
}

build().catch((error) => {
    const words = error instanceof Refused ? error.message : `This page failed, and nothing was sent: ${error.message}.`;
    main.append(element('p', { class: 'caution', role: 'alert', text: words }));
});
