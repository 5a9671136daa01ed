/* leaving.js -- what leaves the device, byte by byte. */
import { element, stackedTable } from '../common/dom.js';
import { count, exact, listed, number } from '../common/format.js';
import { coordinates, isBallot } from '../common/study_terms.js';

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');

/* The length of a CBOR item's head. */
const headBytes = (first) => [1, 2, 3, 5, 9][Math.max(0, (first & 31) - 23)];

/** A report's items in order: docs/reference/wire-format.md has the table. */
export function partsOf(bytes, ballot = false) {
    const parts = [];
    let at = 0;
    const take = (length, words, kind) => {
        parts.push({ bytes: bytes.subarray(at, at + length), words, kind });
        at += length;
    };
    take(2, `that this is a report, version ${bytes[1]}`);
    take(17, 'which study it is for');
    take(headBytes(bytes[at]), 'which round');
    take(17, 'a random number of its own');
    const isClear = bytes[at] !== 0xf6;
    take(headBytes(bytes[at]), isClear ? 'the response, as it is' : 'no response in the clear', isClear ? 'clear' : undefined);
    take(bytes.length - at, ballot ? 'the answer that chance let your device give' : 'your values with the noise in them', 'noisy');
    return parts;
}

export function bytesList(bytes, ballot = false) {
    return element('ol', { class: 'bytes', 'aria-label': `The ${bytes.length} bytes of the report` },
        ...partsOf(bytes, ballot).map((part) => element('li', part.kind ? { class: part.kind } : {},
            element('code', { text: hex(part.bytes) }), element('span', { text: part.words }))));
}

/* Names of what a report's integers stand for, in order. */
function coordinateNames(study) {
    const features = coordinates(study).map((coordinate) => coordinate.name);
    return study.privacy.protects === 'all' ? [...features, study.response.name] : features;
}

const INTEGER_COLUMNS = ['Value', 'Integer that is sent', 'Without noise', 'Noise, usually'];
const RESPONSE_MAX = 32767;

const ANSWER_COLUMNS = ['What', 'Number that is sent', 'Out of', 'By chance'];

/* A ballot says one number, and the response where that is public. */
function answerTable(study, decoded, caption, bytes) {
    const wrong = 100 * (1 - study.mechanism.rank_top / 2 ** 32);
    const answer = partsOf(bytes, true).at(-1).bytes[1];
    const rows = [['the answer', count(answer), '256 random answers', `a wrong one in ${number(wrong, 2)} of 100 cases`]];
    if (decoded.response !== null) {
        rows.push([study.response.name, count(decoded.response), `${count(-RESPONSE_MAX)} to ${count(RESPONSE_MAX)}`, 'never']);
    }
    return stackedTable(ANSWER_COLUMNS, rows, caption);
}

/** The integers of a decoded report, with how large the noise in each is: two
 * standard deviations, which 19 of 20 draws stay within. */
export function integersTable(study, decoded, caption, bytes) {
    if (isBallot(study)) return answerTable(study, decoded, caption, bytes);
    const { noise_log2: noise, wire_shift: shift, unit } = study.mechanism;
    const spread = 2 * 2 ** (noise - shift);
    const reach = unit / 2 ** shift;
    const rows = coordinateNames(study).map((name, i) => [name, count(decoded.coordinates[i]),
        `${number(-reach, 3)} to ${number(reach, 3)}`, `within ±${number(spread, 3)}`]);
    if (decoded.response !== null) {
        rows.push([study.response.name, count(decoded.response), `${count(-RESPONSE_MAX)} to ${count(RESPONSE_MAX)}`, 'none']);
    }
    return stackedTable(INTEGER_COLUMNS, rows, caption);
}

/* ---------------------------------------------------------------- preview */

/* Waves of a made-up round, as long as those that a server sends. */
const madeUpVectors = (study) => Array.from({ length: study.protocol.vectors ?? 0 }, (_, j) => (
    Array.from({ length: coordinates(study).length }, (__, i) => (i === j ? 16384 : 0))));

const NOTHING = '–';

/* What a coordinate's answer is, in words, and the value that stands for it. */
function answersOf(study, values) {
    return study.features.flatMap((feature, i) => {
        const given = values === null ? NOTHING : values[i];
        const isLevel = (level) => (values === null ? NOTHING : given === level ? 'yes' : 'no');
        if (feature.kind === 'category') return feature.levels.slice(1).map((level) => ({ name: `${feature.name}=${level}`, said: isLevel(level), low: 0, high: 1, unit: '' }));
        if (feature.kind === 'yes-no') return [{ name: feature.name, said: given, low: 0, high: 1, unit: '' }];
        return [{ name: feature.name, said: given, low: feature.low, high: feature.high, unit: feature.unit ?? '' }];
    });
}

/* An integer on the wire as the value that a reader would take it for. */
function readAs(study, { low, high }, integer) {
    const { keep, unit, wire_shift: shift } = study.mechanism;
    const scaled = integer * 2 ** shift / unit / (keep / 2 ** 15);
    return (low + high) / 2 + scaled * (high - low) / 2;
}

/* A number beyond its bounds counts as the bound, and the preview must not look as if it did not. Without the
 * unit it takes no second line, which would move the button below. */
function boundOf({ said, low, high }) {
    const value = Number(said);
    if (said === '' || Number.isNaN(value) || (value >= low && value <= high)) return null;
    return `${said}, counted as ${exact(value < low ? low : high)}`;
}

/* `values` and `decoded` are null while there is nothing to show but the frame. */
function samplePreview(study, values, decoded) {
    const isPublic = study.privacy.protects !== 'all';
    const { name, unit: responseUnit = '', low, high } = study.response;
    const response = { name, said: values === null ? NOTHING : values.at(-1), low, high, unit: responseUnit };
    const withUnit = (text, { unit }) => (unit === '' ? text : `${text} ${unit}`);
    const answer = (one) => boundOf(one) ?? withUnit(one.said, one);
    const rows = [...answersOf(study, values), ...(isPublic ? [] : [response])].map((one, i) => {
        const integer = decoded === null ? null : decoded.coordinates[i];
        return [one.name, answer(one), integer === null ? NOTHING : count(integer),
            withUnit(integer === null ? NOTHING : number(readAs(study, one, integer), 3), one)];
    });
    if (isPublic) rows.push([name, answer(response), 'as it is', 'your answer']);
    return stackedTable(['Value', 'Your answer', 'Leaves as', 'Which reads as'], rows);
}

function ballotPreview(study, values, bytes) {
    const wrong = 100 * (1 - study.mechanism.rank_top / 2 ** 32);
    const reply = bytes === null ? '…' : partsOf(bytes, true).at(-1).bytes[1];
    const open = study.privacy.protects === 'all' ? [] : [element('dt', { text: 'Besides' }),
        element('dd', { text: `${study.response.name}, ${values === null ? '…' : values.at(-1)}, as it is` })];
    return element('dl', { class: 'ballot' },
        element('dt', { text: 'The question' }), element('dd', { text: 'Which of these 256 random patterns fits all of your answers together?' }),
        element('dt', { text: 'The reply' }), element('dd', { text: `“Number ${reply}”: all that leaves of your answers.` }),
        element('dt', { text: 'How often it is a lie' }), element('dd', { text: `In ${number(wrong, 2)} of 100 cases such a reply is a pattern that does not fit. It does not say which it was.` }), ...open);
}

/** The frame of a preview, as large as what will be in it: nothing moves when an example takes its place. */
export const emptyPreview = (study) => (isBallot(study) ? ballotPreview(study, null, null) : samplePreview(study, null, null));

/** What these answers, in the order of the form, would leave as: an example, not sent. */
export async function previewOf(study, device, values) {
    const bytes = await device.example(madeUpVectors(study), values);
    return isBallot(study) ? ballotPreview(study, values, bytes) : samplePreview(study, values, await device.read(bytes));
}

/* Whom the example is about, as BrowserDevice.example() makes them up. */
function madeUpPerson(study) {
    const has = (kind) => study.features.some((feature) => feature.kind === kind);
    return listed(['every number in the middle of its bounds', ...(has('yes-no') ? ['“no” to every question'] : []),
        ...(has('category') ? ['the first level of every choice'] : [])]);
}

function sentencesOf(study) {
    const isPublic = study.privacy.protects !== 'all';
    const rounds = study.protocol.rounds ?? 1;
    if (isBallot(study)) {
        return [
            'Your device makes up 256 random answers to a random question about your values. Anybody can make up the same ones; they have nothing to do with you.',
            'Chance decides, before your device looks at your values, whether it gives one of the answers that fit them best or one of the others. That happens once and is kept: asking again gives the same answer.',
            isPublic
                ? `The number of that answer is sent, and ${study.response.name} as it is. Only the other values are hidden in the answer.`
                : 'The number of that answer is all that is sent of your values.',
            'Nothing else about you is sent: no name, no cookie, no account. As with every page, the server sees the network address you come from.',
        ];
    }
    return [
        'Your values are put between the public bounds above, as whole numbers. A value beyond a bound counts as the bound.',
        'Random noise is added to each of them, here, before anything is sent. The noise is drawn once and kept: asking again gives the same noise, so it cannot be averaged away.',
        isPublic
            ? `${study.response.name} is sent as it is. Only the other values are sent with noise.`
            : 'Every value has noise in it; none is sent as it is.',
        rounds > 1
            ? `That happens in each of up to ${count(rounds)} rounds you come back for; the promise below covers all of them together.`
            : 'That happens once. Nothing else about you is sent: no name, no cookie, no account. As with every page, the server sees the network address you come from.',
    ];
}

/** What leaves, in sentences and as the bytes of an example, which is made when somebody looks. */
export function leavingPart(study, device) {
    const place = element('div');
    const draw = async () => {
        const bytes = await device.example(madeUpVectors(study));
        place.replaceChildren(bytesList(bytes, isBallot(study)),
            integersTable(study, await device.read(bytes), 'The same, as the integers in it', bytes));
    };
    const redraw = () => draw().catch((error) => {
        place.replaceChildren(element('p', { role: 'alert', text: `No example could be made: ${error.message}.` }));
    });
    const node = element('details', { class: 'leaving' }, element('summary', { text: 'What leaves your device, byte by byte' }),
        element('ol', { class: 'steps' }, ...sentencesOf(study).map((text) => element('li', { text }))),
        element('p', { text: `This report was just made by your browser for a made-up person: ${madeUpPerson(study)}. It is not sent.` }),
        place,
        element('button', { type: 'button', class: 'chip', text: 'The same person once more, as another device', onclick: redraw }));
    node.addEventListener('toggle', () => { if (node.open && place.firstChild === null) redraw(); });
    return node;
}
