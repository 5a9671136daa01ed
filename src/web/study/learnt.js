/* learnt.js -- rows and sentences of an estimate's document.
 *
 * The sentences of the three answers are the document's own (src/estimate/answers.c), each a list of
 * parts, words and names. Names come from a study and may be written in any direction, so
 * sentenceNodes() isolates each. Here are the few sentences that need the study or its history, too. */
import { element } from '../common/dom.js';
import { count, number, typographic } from '../common/format.js';

/** Features' rows of a document; the intercept is the last of all. */
export const featureRows = ({ coefficients }) => coefficients.slice(0, -1);

/** Is zero outside of the interval? */
export const isTold = (row) => row.identified && row.low !== null && row.high !== null && (row.low > 0 || row.high < 0);

/** "hours" -> "hour", "thousands a day" -> "thousand a day". */
export const ofOne = (unit) => unit.replace(/^(\p{L}{2,}[^s\s])s\b/u, '$1');

/** A count to two digits, rounded up. */
export function roughly(devices) {
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(devices)) - 1);
    return Math.ceil(devices / unit - 1e-9) * unit;
}

/** A count as people say one that is a guess. */
export const about = (devices) => count(roughly(devices));

/** How many devices there are of those needed, for the list. */
export function neededWords({ devices, needed, isTold: told, state }) {
    if (needed === null) return '';
    if (devices < needed) return ` of about ${about(needed)}`;
    if (told) return ` about ${about(needed)} needed`;
    return ` ${devices > roughly(needed) ? 'more than' : 'about'} the usual ${about(needed)}, ${state === 'done' ? 'and' : 'still'} nothing`;
}

/** A round closes at one number of reports, effects show from another: both are said side by side. */
export function roundSizeSentence(study, estimate) {
    const size = study.protocol.close?.reports ?? null;
    const { devices_needed: needed } = estimate;
    if (size === null || needed === null || size >= needed || featureRows(estimate).some(isTold)) return '';
    return `A round closes at ${count(size)} reports, and effects of a usual size show from about ${about(needed)} devices in one round: only much larger ones can show here.`;
}

/** Where the gradient went from the first round to the last, in words; nothing before there are two. */
export function gradientSentence(rounds) {
    const known = rounds.filter((round) => Number.isFinite(round.gradient_norm ?? NaN));
    if (known.length < 2) return '';
    const [first, last] = [known[0], known.at(-1)];
    const [from, to] = [first, last].map((round) => number(round.gradient_norm, 3));
    if (from === to) return `From round ${first.round + 1} to round ${last.round + 1} it stayed at ${from}.`;
    return last.gradient_norm < first.gradient_norm
        ? `From round ${first.round + 1} to round ${last.round + 1} it fell from ${from} to ${to}: it came closer.`
        : `From round ${first.round + 1} to round ${last.round + 1} it rose from ${from} to ${to}: it moved away, noise won.`;
}

const partsOf = (sentence) => (Array.isArray(sentence) ? sentence : [sentence]);

/** A sentence as nodes, every name isolated. */
export const sentenceNodes = (sentence) => partsOf(sentence).map((part) => (typeof part === 'string' ? typographic(part) : element('bdi', { text: part.name })));

/** A sentence as text, for titles and screen readers. */
export const sentenceText = (sentence) => partsOf(sentence).map((part) => (typeof part === 'string' ? typographic(part) : part.name)).join('');
