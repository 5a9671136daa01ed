/* terms.js -- what everybody agreed on: the study's own terms. */
import { element, section } from './dom.js';
import { listed, number } from './format.js';
import { isIterative } from './study_terms.js';

function boundsOf(feature) {
    if (feature.kind === 'category') return listed(feature.levels);
    if (feature.kind === 'yes-no') return 'yes or no';
    return `${number(feature.low)} to ${number(feature.high)}${feature.unit ? ` ${feature.unit}` : ''}`;
}

function row(feature, role) {
    return element('tr', {}, element('th', { scope: 'row', text: feature.name }),
        element('td', { text: boundsOf(feature) }), element('td', { text: role }));
}

/** Every value that is asked for, with its bounds and what becomes of it. */
export function featureTable(study) {
    const sent = study.response.sent === 'private' ? 'response, protected' : 'response, sent in the clear';
    const head = ['Value', 'Public bounds', 'Role'].map((text) => element('th', { scope: 'col', text }));
    return element('table', { class: 'terms' }, element('thead', {}, element('tr', {}, ...head)),
        element('tbody', {}, ...study.features.map((feature) => row(feature, 'feature, protected')),
            row({ ...study.response, kind: 'numeric' }, sent)));
}

function protocolSentence(study) {
    const { protocol, limits } = study;
    const rounds = isIterative(study) ? `in up to ${protocol.rounds} rounds` : 'once';
    const who = limits.enrolment === 'keys' ? 'Enrolled devices report' : 'Any device may report,';
    return `${who} ${rounds}; calibration ${protocol.calibration}, ${protocol.vectors} modulation vectors.`;
}

export function termsSection(study, id) {
    return {
        node: section('The study', element('p', { text: protocolSentence(study) }),
            element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Values and their bounds' }, featureTable(study)),
            element('p', { class: 'facts id' }, 'Its id is a hash of these terms: ',
                element('a', { href: `/v1/studies/${id}` }, element('code', { text: id })))),
        update() {},
    };
}
