/* study.js -- one study: three answers, a line on how it is doing, and the sections behind them.
 *
 * Every number comes from two documents of the server, the estimate and the history
 * (../common/api.js); index.js asks for them again and again. No estimate is computed here.
 *
 * Nothing is drawn before everything is there: until then the page's own skeleton stands, so that
 * nothing jumps. */
import { answers } from './answers.js';
import * as api from '../common/api.js';
import { coefficientsSection } from './coefficients.js';
import { convergenceSection } from './convergence.js';
import { element, nextTask, setText, show } from '../common/dom.js';
import { listed } from '../common/format.js';
import { guaranteeSection } from './guarantee.js';
import { progressSection } from './progress.js';
import { roundsSection } from './rounds.js';
import { stateChip } from './state.js';
import { isIterative } from '../common/study_terms.js';
import { termsSection } from './terms.js';

const NAMES_SAID = 8;
const AT_ONCE = 3; /* sections that appear together: the first screen */

function question(study) {
    const names = study.features.map((feature) => feature.name);
    const said = names.length > NAMES_SAID ? `${names.length} features` : listed(names);
    return `How ${study.response.name} depends on ${said}.`;
}

/* The three answers as a section like the others. */
function answersSection() {
    const { node, update } = answers();
    return { node, update: ({ estimate }) => update(estimate) };
}

/* What makes each section, in order. */
function makersOf(study, id) {
    return [
        answersSection,
        () => progressSection(study),
        () => coefficientsSection(study),
        () => convergenceSection(study),
        ...(isIterative(study) ? [() => roundsSection(study)] : []),
        () => guaranteeSection(study),
        () => termsSection(study, id),
    ];
}

/* Nobody is invited to a page that would refuse them; it explains why, for whoever wants to know. */
function invite(link, { state }, { guarantee }) {
    const isAsked = guarantee === null || guarantee.strength === 'policy';
    show(link, state !== 'done');
    link.classList.toggle('declined', !isAsked);
    setText(link, isAsked ? 'Take part' : 'This page would not ask you: too little protection');
}

/** Fill the page; the answer is what to ask again and again. */
export function studyView(main, id) {
    const state = stateChip();
    const takePart = element('a', { class: 'take-part', href: `/studies/${id}/about` });
    const sections = [];
    let makers = null;

    function headOf(study) {
        document.title = `${study.title} · tremolo`;
        return element('header', { class: 'head' },
            element('p', { class: 'crumb' }, element('a', { href: '/', text: 'Studies' }), state.node, takePart),
            element('h1', { text: study.title, dir: 'auto' }),
            element('p', { class: 'purpose', text: study.purpose || question(study), dir: 'auto' }));
    }

    /* The skeleton gives way to the whole first screen; the others follow below it, each made and filled in a
     * task of its own. */
    async function build(study, data) {
        makers = makersOf(study, id);
        while (sections.length < makers.length) {
            const part = makers[sections.length]();
            sections.push(part);
            part.update(data);
            if (sections.length === AT_ONCE) {
                main.setAttribute('aria-busy', 'true');
                main.replaceChildren(headOf(study), ...sections.map((one) => one.node));
            } else if (sections.length > AT_ONCE) main.append(part.node);
            await nextTask();
        }
        main.setAttribute('aria-busy', 'false');
    }

    return async () => {
        const [published, answered, history] = await Promise.all([
            makers === null ? api.published(id) : null, api.estimate(id), api.history(id)]);
        const estimate = { ...answered, state: history.state }; /* which knows when the study's last day is over, too */
        state.update(history.state);
        invite(takePart, history, estimate);
        if (makers === null) return build(published.study, { estimate, history });
        for (const part of sections) {
            part.update({ estimate, history });
            await nextTask();
        }
        return undefined;
    };
}
