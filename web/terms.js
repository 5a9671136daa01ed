/* terms.js -- what everybody agreed on: the study's own terms. */
import { element, section } from './dom.js';
import { counted, listed, number } from './format.js';
import { isIterative } from './study_terms.js';

const FEATURES_SHOWN = 12;

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
    const waves = protocol.vectors === 0 ? 'no modulation' : `modulation along ${counted(protocol.vectors, 'vector')}`;
    const dates = [['opens', limits.opens], ['closes', limits.closes]].filter(([, day]) => day)
        .map(([word, day]) => ` It ${word} ${day}.`).join('');
    return `${who} ${rounds}; ${waves}, ${protocol.calibration} calibration.${dates}`;
}

/* A long table is folded away. */
function bounds(study) {
    const table = featureTable(study);
    if (study.features.length <= FEATURES_SHOWN) return table;
    return element('details', {}, element('summary', { text: `${study.features.length} features and their bounds` }), table);
}

export function termsSection(study, id) {
    return {
        node: section('The study', element('p', { text: protocolSentence(study) }), bounds(study),
            element('p', { class: 'facts id' }, 'Its id is a hash of these terms: ',
                element('a', { href: `/v1/studies/${id}` }, element('code', { text: id })))),
        update() {},
    };
}
