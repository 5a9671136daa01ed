/* study.js -- one study: its sections, and what feeds them. */
import * as api from './api.js';
import { coefficientsSection } from './coefficients.js';
import { element } from './dom.js';
import { listed } from './format.js';
import { guaranteeSection } from './guarantee.js';
import { outcomesSection } from './outcomes.js';
import { progressSection } from './progress.js';
import { roundsSection } from './rounds.js';
import { stateChip } from './state.js';
import { isIterative } from './study_terms.js';
import { tailsSection } from './tails.js';
import { termsSection } from './terms.js';
import { timelineSection } from './timeline.js';

const NAMES_SAID = 8;

function question(study) {
    const names = study.features.map((feature) => feature.name);
    const said = names.length > NAMES_SAID ? `${names.length} features` : listed(names);
    return `How ${study.response.name} depends on ${said}.`;
}

function sectionsOf(study, id) {
    return [
        progressSection(study),
        coefficientsSection(study),
        timelineSection(study),
        ...(isIterative(study) ? [roundsSection(study)] : []),
        guaranteeSection(study),
        outcomesSection(study),
        tailsSection(),
        termsSection(study, id),
    ];
}

/** Fill the page; the answer is what to ask again and again. */
export function studyView(main, id) {
    const state = stateChip();
    let sections = null;

    function build(study) {
        document.title = `${study.title} · tremolo`;
        sections = sectionsOf(study, id);
        main.append(element('header', { class: 'head' },
            element('p', { class: 'crumb' }, element('a', { href: '/', text: 'Studies' }), state.node),
            element('h1', { text: study.title }),
            element('p', { class: 'purpose', text: study.purpose || question(study) }),
            element('p', { class: 'more' }, element('a', { href: `/studies/${id}/about`, text: 'What taking part means' }))),
        ...sections.map((part) => part.node));
    }

    return async () => {
        if (sections === null) build((await api.published(id)).study);
        const [estimate, history] = await Promise.all([api.estimate(id), api.history(id)]);
        state.update(history.state);
        for (const part of sections) part.update({ estimate, history });
    };
}
