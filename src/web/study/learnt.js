/* learnt.js -- what an estimate's document says, in sentences made from its numbers.
 *
 * A sentence is a list of parts, words and names: names come from a study and may be written in any
 * direction, so sentenceNodes() isolates each. This is the only place where such sentences
 * are made; the list, the study's page and saved results all use it. */
import { element } from '../common/dom.js';
import { count, number, roundedTo } from '../common/format.js';

/** Features' rows of a document; the intercept is the last of all. */
export const featureRows = ({ coefficients }) => coefficients.slice(0, -1);

/** Is zero outside of the interval? */
export const isTold = (row) => row.identified && row.low !== null && row.high !== null && (row.low > 0 || row.high < 0);

/* Told rows, the largest change of the response first. */
function toldRows(document) {
    const size = (row) => Math.abs(row.estimate) * (row.range ?? 1);
    return featureRows(document).filter(isTold).sort((a, b) => size(b) - size(a));
}

/* A round number of the feature's units that is a tenth of its range or less, and not a
 * fraction where the range has whole ones. */
function stepOf({ range }) {
    if (!(range > 0)) return 1;
    const step = 10 ** Math.floor(Math.log10(range / 10));
    return range >= 2 ? Math.max(1, step) : step;
}

/** "hours" -> "hour", "thousands a day" -> "thousand a day". */
export const ofOne = (unit) => unit.replace(/^(\p{L}{2,}[^s\s])s\b/u, '$1');

/* A unit after its number, as parts: it is a name like others. */
const unitParts = (unit) => (unit ? [' ', { name: unit }] : []);

function perParts(row) {
    const step = stepOf(row);
    const unit = row.unit ?? '';
    if (step === 1) return unit === '' ? [' per unit'] : [' per ', { name: ofOne(unit) }];
    return [` per ${step >= 1 ? count(step) : number(step)}`, ...unitParts(unit)];
}

/* One digit less than in the table is easier to read, unless an end would look like zero. */
function sentenceError({ low, high }, error) {
    const isZero = (value) => Number(roundedTo(value, 10 * error).replace('−', '-').replaceAll(',', '')) === 0;
    return isZero(low) || isZero(high) ? error : 10 * error;
}

const endsInS = (word) => /[^s]s$/.test(word);

/* Between two answers, not along a number. */
const isChoice = (row) => (row.to ?? null) !== null;

/* "More steps go with", "Higher age goes with", "“yes” to smoker goes with". */
function subject(row) {
    const name = { name: row.name };
    const verb = endsInS(row.name) ? ' go with ' : ' goes with ';
    if (row.to === 'yes' && row.from === 'no') return ['“Yes” to ', name, ' goes with '];
    if (isChoice(row)) return [name, ' goes with '];
    return [endsInS(row.name) ? 'More ' : 'Higher ', name, verb];
}

/** One effect: "More steps go with a lower pulse: −0.54 beats a minute per thousand a day, between −0.95 and −0.12". */
export function effectSentence(row, response) {
    const step = isChoice(row) ? 1 : stepOf(row);
    const error = sentenceError({ low: row.low * step, high: row.high * step }, step * (row.standard_error ?? (row.high - row.low) / 4));
    const shown = (value) => roundedTo(value * step, error);
    const more = row.estimate > 0 ? 'higher ' : 'lower ';
    const than = isChoice(row) && row.from !== 'no' ? [' than ', { name: row.from }] : [];
    return [...subject(row), endsInS(response.name) ? more : `a ${more}`, { name: response.name }, ...than,
        `: ${shown(row.estimate)}`, ...unitParts(response.unit), ...(isChoice(row) ? [] : perParts(row)),
        `, between ${shown(row.low)} and ${shown(row.high)}`];
}

/** A count to two digits, rounded up. */
export function roughly(devices) {
    const unit = 10 ** Math.max(0, Math.floor(Math.log10(devices)) - 1);
    return Math.ceil(devices / unit - 1e-9) * unit;
}

/** A count as people say one that is a guess. */
export const about = (devices) => count(roughly(devices));

/* Have as many come as usually are enough? */
const isBeyondUsual = ({ devices, devices_needed: needed }) => needed !== null && devices !== null && devices >= needed;

/** How many devices there are of those needed, for the list. */
export function neededWords({ devices, needed, isTold: told, state }) {
    if (needed === null) return '';
    if (devices < needed) return ` of about ${about(needed)}`;
    if (told) return ` about ${about(needed)} needed`;
    return ` ${devices > roughly(needed) ? 'more than' : 'about'} the usual ${about(needed)}, ${state === 'done' ? 'and' : 'still'} nothing`;
}

/* Why nothing is told yet, from counts alone. */
function nothingSentence({ devices, devices_needed: needed, state, remark, coefficients, r2 = null }) {
    const what = r2 === null ? 'Nothing' : 'No single effect'; /* R² tells of all together */
    const begin = state === 'done' ? `${what} was learnt` : `${what} yet`;
    const came = devices === null ? 'so far' : `${count(devices)} ${devices === 1 ? 'device' : 'devices'}`;
    if (needed === null) {
        return [remark !== null && coefficients.length === 0 && devices === null ? `${begin}: ${remark}`
            : `${begin}: ${came}, and no number of devices that could be had would be enough at this noise`];
    }
    if (isBeyondUsual({ devices, devices_needed: needed })) return [`${begin}, after ${came}`];
    return [`${begin}: ${came === 'so far' ? came : count(devices)} of about ${about(needed)} devices, which unrelated features with effects of a usual size need`];
}

/* Why there is nothing although enough have come; with fewer the headline says it. */
const whySentence = (document) => (isBeyondUsual(document)
    ? `About ${about(document.devices_needed)} are usually enough: effects are smaller, or features vary less or are more alike, than usual.` : '');

/** What a ballot's device does to the response; how often it does no report tells. */
export function cutSentence({ release, coefficients }) {
    return release === 'ballot' && coefficients.some((row) => row.identified)
        ? 'Devices cut responses at the ends of their range, which draws coefficients to zero by about the share that is cut; reports do not tell it.' : '';
}

/** What the coefficients of a category's levels are differences from. */
export function referenceSentence({ inputs, coefficients }) {
    const has = (start) => coefficients.some(({ name }) => name.split(':').some((part) => part.startsWith(start)));
    const references = (inputs?.columns ?? [])
        .filter(({ kind, name, levels }) => kind === 'category' && has(`${name}=`)
            && !coefficients.some((row) => row.name.split(':').includes(`${name}=${levels[0]}`)))
        .map(({ name, levels }) => `${name}=${levels[0]}`);
    return references.length > 0 ? `A level is compared with its reference: ${references.join(', ')}.` : '';
}

/** Whose the R² of ballots is. */
export function weightsSentence({ release, r2 }) {
    return release === 'ballot' && r2 !== null
        ? 'Ballots weigh people by how typical they are: where some are far from that, or effects are not linear, the R² among all people can lie outside its interval.' : '';
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

/**
 * What was learnt: the largest effect as a sentence, the others that are told, and how many.
 * @returns {{told: any[], of: number, sentence: any[], why: string, others: any[][], share: number|null}}
 *     why: nothing is told although enough devices have come, or nothing;
 *     share: of the devices that plan asks for, while some are lacking
 */
export function learnt(document) {
    const told = toldRows(document);
    const rows = featureRows(document);
    const { devices, devices_needed: needed } = document;
    return {
        told,
        of: rows.length,
        sentence: told.length > 0 ? effectSentence(told[0], document.response) : nothingSentence(document),
        why: told.length > 0 ? '' : whySentence(document),
        others: told.slice(1).map((row) => effectSentence(row, document.response)),
        share: told.length > 0 || needed === null || devices === null || devices >= needed ? null : devices / needed,
    };
}

/** A sentence as nodes, every name isolated. */
export const sentenceNodes = (parts) => parts.map((part) => (typeof part === 'string' ? part : element('bdi', { text: part.name })));

/** A sentence as text, for titles and for whoever listens. */
export const sentenceText = (parts) => parts.map((part) => (typeof part === 'string' ? part : part.name)).join('');
