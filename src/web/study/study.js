/* study.js -- one study: three answers, a line on how it is doing, and the sections behind them.
 *
 * Nothing is drawn before everything is there: until then the page's own skeleton stands, so that
 * nothing jumps. */
import { answers } from './answers.js';
import * as api from '../common/api.js';
import { coefficientsSection } from './coefficients.js';
import { convergenceSection } from './convergence.js';
import { element, show } from '../common/dom.js';
import { listed } from '../common/format.js';
import { guaranteeSection } from './guarantee.js';
import { progressSection } from './progress.js';
import { roundsSection } from './rounds.js';
import { stateChip } from './state.js';
import { isIterative } from '../common/study_terms.js';
import { termsSection } from './terms.js';

const NAMES_SAID = 8;
const AT_ONCE = 3; /* sections that are drawn together; those below come in tasks of their own, so that a slow phone stays responsive */
const nextTask = () => new Promise((resolve) => { setTimeout(resolve); });

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

function sectionsOf(study, id) {
    return [
        answersSection(),
        progressSection(study),
        coefficientsSection(),
        convergenceSection(study),
        ...(isIterative(study) ? [roundsSection(study)] : []),
        guaranteeSection(study),
        termsSection(study, id),
    ];
}

/** Fill the page; the answer is what to ask again and again. */
export function studyView(main, id) {
    const state = stateChip();
    const takePart = element('a', { class: 'take-part', href: `/studies/${id}/about`, text: 'Take part' });
    let sections = null;

    function build(study) {
        document.title = `${study.title} · tremolo`;
        sections = sectionsOf(study, id);
        main.setAttribute('aria-busy', 'true');
        main.replaceChildren(element('header', { class: 'head' },
            element('p', { class: 'crumb' }, element('a', { href: '/', text: 'Studies' }), state.node, takePart),
            element('h1', { text: study.title, dir: 'auto' }),
            element('p', { class: 'purpose', text: study.purpose || question(study), dir: 'auto' })),
        ...sections.map((part) => part.node));
    }

    return async () => {
        const [published, estimate, history] = await Promise.all([
            sections === null ? api.published(id) : null, api.estimate(id), api.history(id)]);
        if (sections === null) build(published.study);
        state.update(history.state);
        show(takePart, history.state !== 'closed');
        for (const [place, part] of sections.entries()) {
            if (place >= AT_ONCE) await nextTask();
            part.update({ estimate, history });
        }
        main.setAttribute('aria-busy', 'false');
    };
}
