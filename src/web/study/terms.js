/* terms.js -- what everybody agreed on: the study's own terms. */
import { element, section, setText } from '../common/dom.js';
import { date, exact, listed } from '../common/format.js';
import { clips, isBallot, isIterative, timesAsked } from '../common/study_terms.js';

const FEATURES_SHOWN = 12;

/** From where to where a value may lie, with its unit; or its levels. */
export function boundsOf(feature) {
    if (feature.kind === 'category') return listed(feature.levels);
    if (feature.kind === 'yes-no') return 'yes or no';
    return `${exact(feature.low)} to ${exact(feature.high)}${feature.unit ? ` ${feature.unit}` : ''}`;
}

function row(feature, role) {
    return element('tr', {}, element('th', { scope: 'row' }, element('bdi', { text: feature.name })),
        element('td', { text: boundsOf(feature), dir: 'auto' }), element('td', { text: role }));
}

/** Every value that is asked for, with its bounds and what becomes of it. */
export function featureTable(study) {
    const how = isBallot(study) ? 'hidden in the reply' : 'sent with noise';
    const sent = study.privacy.protects === 'all' ? `response, ${how}` : 'response, sent as it is';
    const head = ['Value', isBallot(study) ? 'Typical range' : 'Public bounds', 'Role'].map((text) => element('th', { scope: 'col', text }));
    return element('table', { class: 'terms' }, element('thead', {}, element('tr', {}, ...head)),
        element('tbody', {}, ...study.features.map((feature) => row(feature, `feature, ${how}`)),
            ...(study.terms ?? []).filter((term) => term.low !== undefined)
                .map(({ term, low, high }) => row({ name: term, kind: 'numeric', low, high }, `computed from these, ${how}`)),
            row({ ...study.response, kind: 'numeric' }, sent)));
}

/* How often, by whom, and what a report is. */
function protocolSentence(study) {
    const { protocol, limits } = study;
    const rounds = limits.samples > 1 ? timesAsked(study) : isIterative(study) ? `in up to ${protocol.rounds} rounds` : 'once';
    const who = limits.enrolment === 'keys' ? 'Enrolled devices report' : 'Any device may report,';
    if (isBallot(study)) return `${who} ${rounds}; a report is a ballot: the number of one of 256 random patterns.`;
    const clip = clips(study) ? ' Values far from the middle on many features at once are brought closer to it before the noise is added.' : '';
    const waves = protocol.vectors === 0 ? '' : ', shifted by random waves,';
    return `${who} ${rounds}; a report is the values${waves} with noise added on the device.${clip}`;
}

const isPast = (day) => Date.parse(day) <= Date.now();

/** The study's dates; one that is closed may have been so before its day. */
export function datesSentence({ opens, closes }, state) {
    const words = [];
    if (opens) words.push(`It ${isPast(opens) ? 'opened' : 'opens'} on ${date(opens)}.`);
    if (closes && isPast(closes)) words.push(`It closed on ${date(closes)}.`);
    else if (closes && state === 'done') words.push(`It is closed already; its last day would have been ${date(closes)}.`);
    else if (closes) words.push(`It closes on ${date(closes)}.`);
    return words.join(' ');
}

/* A long table is folded away. */
function bounds(study) {
    const table = featureTable(study);
    if (study.features.length <= FEATURES_SHOWN) return table;
    return element('details', {}, element('summary', { text: `${study.features.length} features and their bounds` }), table);
}

export function termsSection(study, id) {
    const dates = element('p');
    return {
        node: section('The study', element('p', { text: protocolSentence(study) }), dates, bounds(study),
            element('p', { class: 'facts id' }, 'Its id is a hash of these terms: ',
                element('a', { href: `/v1/studies/${id}` }, element('code', { text: id })))),
        update({ history }) {
            setText(dates, datesSentence(study.limits, history.state));
        },
    };
}
