/* format.js -- numbers and times as people read them. Display only: whoever
 * wants to know exactly finds the whole number in the element's value, or asks
 * the server.
 *
 * Numbers are written without Intl: its first formatter costs a phone a tenth of a second, before
 * anything is on the screen. */
const NOTHING = '–';
const MINUS = '−';
const TIE = 1 + 2 ** -51; /* 0.00012345 is a little less in binary, and is rounded up all the same */
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/* Digits, maybe with a sign and a fraction, with commas between thousands. */
function grouped(text) {
    const [whole, fraction] = text.split('.');
    const parted = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
    return fraction === undefined ? parted : `${parted}.${fraction}`;
}

/** A whole number: 12,345. */
export function count(value) {
    return grouped(Number(value).toFixed(0)).replace('-', MINUS);
}

/** "1 device", "2 devices". */
export function counted(value, one, many = `${one}s`) {
    return `${count(value)} ${value === 1 ? one : many}`;
}

/** Four significant digits, without an exponent where that is readable. */
export function number(value, digits = 4) {
    if (!isNumber(value)) return NOTHING;
    if (value === 0) return '0';
    const size = Math.abs(value);
    const text = size >= 1e7 || size < 1e-4 ? value.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e')
        : String(Number((value * TIE).toPrecision(digits)));
    return (size >= 10000 && size < 1e7 ? grouped(text) : text).replaceAll('-', MINUS);
}

/** How many decimals a number with this error has: the error's second digit is the last one. */
export function decimalsOf(error) {
    return isNumber(error) && error > 0 ? 1 - Math.floor(Math.log10(error * (1 + 1e-12))) : 4;
}

/** A number rounded to its error's second digit: "−0.54" with the error 0.20. Errors of 100 and
 * more round before the point, tiny ones get an exponent. */
export function roundedTo(value, error) {
    if (!isNumber(value)) return NOTHING;
    const decimals = decimalsOf(error);
    if (decimals > 8) return number(value, 3);
    const unit = 10 ** -Math.min(0, decimals);
    const fraction = Math.max(0, decimals);
    const rounded = decimals < 0 ? Math.round(value / unit) * unit : value;
    const text = (rounded * TIE).toFixed(fraction);
    const shown = Number(text) === 0 ? text.replace('-', '') : text;
    return (Math.abs(rounded) >= 10000 ? grouped(shown) : shown).replace('-', MINUS);
}

/* Rounded to so many digits by Math.ceil or Math.floor. What is beyond them by less than a
 * billionth of the last one is the accountant's own rounding, as in tremolo_digits_up(). */
function rounded(value, digits, round, slack) {
    if (!isNumber(value) || value <= 0) return number(value, digits);
    const unit = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
    return number(round(value / unit + slack) * unit, digits);
}

/** A cost that must not be understated (epsilon, delta, mu): rounded up. */
export const cost = (value, digits = 4) => rounded(value, digits, Math.ceil, -1e-9);

/** What is left of a budget: rounded down. */
export const left = (value, digits = 4) => rounded(value, digits, Math.floor, 1e-9);

/** Every digit that matters, for bounds that people are held to. */
export function exact(value) {
    return number(value, 15);
}

/** How often an attacker is right at most, who never always is: rounded up to one decimal, and ">99.9%" for
 * what becomes 100%, as the command line has it. */
export function atMost(share) {
    const up = Math.ceil(share * 1000 - 1e-9) / 10;
    return up < 100 ? `${up}%` : '>99.9%';
}

/** The same within a sentence: "at most 79.2%", "above 99.9%". */
export const rightAtMost = (share) => `at most ${atMost(share)}`.replace('at most >', 'above ');

/** A count on an axis: 500, 2k, 3M. */
export function shortCount(value) {
    const [by, letter] = value >= 1e9 ? [1e9, 'G'] : value >= 1e6 ? [1e6, 'M'] : value >= 1e3 ? [1e3, 'k'] : [1, ''];
    return `${Number((value / by).toPrecision(3))}${letter}`;
}

/** A p-value: small ones as a bound. */
export function pValue(p) {
    if (!isNumber(p)) return NOTHING;
    return p < 0.0001 ? '< 0.0001' : p.toFixed(4);
}

/** Reports a second, in the unit that gives a readable number; a dash before it is known. */
export function rate(perSecond) {
    if (!isNumber(perSecond)) return { amount: NOTHING, unit: 'a second' };
    if (!(perSecond > 0)) return { amount: '0', unit: 'a second' };
    if (perSecond >= 1) return { amount: number(perSecond, 3), unit: 'a second' };
    if (perSecond * 60 >= 1) return { amount: number(perSecond * 60, 3), unit: 'a minute' };
    return { amount: number(perSecond * 3600, 3), unit: 'an hour' };
}

/** A moment in Unix seconds, in the reader's own time. */
export function moment(seconds) {
    const at = new Date(seconds * 1000);
    const two = (part) => String(part).padStart(2, '0');
    return `${at.getDate()} ${MONTHS[at.getMonth()]}, ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A date of a study (RFC 3339), in the reader's own time, which is named. */
export function date(text) {
    return new Date(text).toLocaleString('en-GB', {
        day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short',
    });
}

/* The protocol says "done"; people read one word for it on every page. */
const STATES = { done: 'closed' };

/** A study's state as people read it. */
export function stateWord(state) {
    return STATES[state] ?? state;
}

/** Words of the server with the minus sign that numbers have here. */
export const typographic = (words) => words.replace(/-(?=\d)/g, MINUS);

/** "a, b and c". */
export function listed(words) {
    return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
