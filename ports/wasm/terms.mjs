/* terms.mjs -- a study's coordinates from its features: as they are, or by its terms.
 *
 * docs/reference/protocol.md, section 1, fixes the arithmetic, so that every device gives the same
 * integers: JavaScript's numbers are the binary64 it asks for, and the logarithm is made of
 * integers. tests/vectors/terms.json has what another program computed. */
import { TremoloError } from "./tremolo.mjs";

const POWER_MAX = 4;
const FACTORS_MAX = 4;

/** @typedef {{ column: string, kind: "value" | "levels" | "log", power: number, shift: number }} Factor
 *  @typedef {import("./study.mjs").Feature} Feature
 *  @typedef {{ name: string, unit: string, low: number, high: number, value: (values: number[]) => number }} Coordinate
 *  @typedef {{ release?: string }} Protocol */

/** @param {string} text
 *  @returns {never} */
const unreadable = (text) => {
    throw new TremoloError("BAD_STUDY", `the term ${text} cannot be read`);
};

/* ------------------------------------------------------------------ reading */

/* The text, and the position in it. */
class Reader {
    /** @param {string} text */
    constructor(text) {
        this.text = text;
        this.at = 0;
    }

    /** What a sticky pattern finds after spaces, or null.
     * @param {RegExp} pattern */
    take(pattern) {
        const found = new RegExp(`[ \\t\\r\\n]*(?:${pattern.source})`, "uy");
        found.lastIndex = this.at;
        const match = found.exec(this.text);
        if (match === null) return null;
        this.at = found.lastIndex;
        return match;
    }

    /** @param {RegExp} pattern */
    need(pattern) {
        return this.take(pattern) ?? unreadable(this.text);
    }

    name() {
        const found = this.take(/`([^`]+)`/) ?? this.take(/Q[ \t]*\([ \t\r\n]*"([^"]+)"[ \t\r\n]*\)/)
            ?? this.take(/Q[ \t]*\([ \t\r\n]*'([^']+)'[ \t\r\n]*\)/)
            ?? this.need(/((?![0-9])[A-Za-z0-9_.\u0080-\u{10ffff}]+)(?![ \t]*\()/u);
        return found[1];
    }
}

/** @param {Reader} reader
 *  @param {boolean} inner  within I()
 *  @returns {Factor} */
function readValue(reader, inner) {
    const shifted = inner && reader.take(/\(/) !== null;
    const column = reader.name();
    let shift = 0;
    if (shifted) {
        const [, sign, digits] = reader.need(/([-+])[ \t\r\n]*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)[ \t\r\n]*\)/);
        shift = sign === "-" ? Number(digits) : -Number(digits);
    }
    const power = reader.take(/(?:\^|\*\*)[ \t\r\n]*([0-9]+)/);
    const raised = power === null ? 1 : Number(power[1]);
    if (raised < 1 || raised > POWER_MAX) unreadable(reader.text);
    return { column, kind: "value", power: raised, shift };
}

/** @param {Reader} reader
 *  @returns {Factor[]} */
function readFactor(reader) {
    if (reader.take(/I[ \t]*\(/) !== null) {
        const factors = [readValue(reader, true)];
        while (reader.take(/\*(?!\*)/) !== null) factors.push(readValue(reader, true));
        reader.need(/\)/);
        return factors;
    }
    const kind = reader.take(/C[ \t]*\(/) !== null ? "levels" : reader.take(/(?:np\.)?log[ \t]*\(/) !== null ? "log" : null;
    if (kind === null) return [readValue(reader, false)];
    const column = reader.name();
    reader.need(/\)/);
    return [{ column, kind, power: 1, shift: 0 }];
}

/** The factors of one term.
 * @param {string} text
 * @returns {Factor[]} */
export function parseTerm(text) {
    const reader = new Reader(text);
    const factors = readFactor(reader);
    while (reader.take(/:/) !== null) factors.push(...readFactor(reader));
    reader.need(/$/);
    const columns = new Set(factors.map(({ column }) => column));
    return factors.length <= FACTORS_MAX && columns.size === factors.length ? factors : unreadable(text);
}

/* --------------------------------------------------------------- arithmetic */

const LOG_UNIT = Math.LN2 * 2 ** -32; /* 0x1.62e42fefa39efp-33 */

/** The natural logarithm as every device computes it; NaN unless x is positive and finite.
 * @param {number} x */
export function logarithm(x) {
    if (!(x > 0) || !Number.isFinite(x)) return NaN;
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x < 2 ** -1022 ? 2 ** -1022 : x);
    const bits = view.getBigUint64(0);
    let part = (1n << 31n) | ((bits & 0xfffffffffffffn) >> 21n);
    let whole = (bits >> 52n) - 1023n;
    for (let i = 0; i < 32; i++) {
        part = (part * part) >> 31n;
        const bit = part >> 32n;
        part >>= bit;
        whole = 2n * whole + bit;
    }
    return Number(whole) * LOG_UNIT;
}

/** @param {number} value
 *  @param {Factor} factor
 *  @param {number} level  0 for a number
 *  @param {number} floor */
function factorValue(value, { kind, power, shift }, level, floor) {
    if (level > 0) return value === level ? 1 : 0;
    if (kind === "log") return logarithm(value < floor ? floor : value);
    const base = value - shift;
    let product = base;
    for (let i = 1; i < power; i++) product *= base;
    return product;
}

/* -------------------------------------------------------------- coordinates */

/** @param {Factor} factor
 *  @param {Feature} feature
 *  @param {number} level */
function factorName({ kind, power, shift }, feature, level) {
    if (level > 0) return `${feature.name}=${/** @type {any} */ (feature).levels[level]}`;
    const shifted = shift === 0 ? feature.name : `(${feature.name}${shift > 0 ? "" : "+"}${-shift})`;
    return kind === "log" ? `log(${feature.name})` : power > 1 ? `${shifted}^${power}` : shifted;
}

/** Every choice of one level for each factor that has some, the last factor's fastest.
 * @param {Feature[]} features
 * @returns {number[][]} */
function levelsOf(features) {
    return features.reduce((all, feature) => {
        const own = feature.kind === "category" ? feature.levels.slice(1).map((_, i) => i + 1) : [0];
        return all.flatMap((levels) => own.map((level) => [...levels, level]));
    }, /** @type {number[][]} */ ([[]]));
}

/** How many people one expects to say yes, or to be at one of the levels.
 * @param {any} feature */
const shareOf = ({ kind, levels, typical }) => (kind === "category" ? 1 / levels.length : typical ?? 0.5);

/** What one expects of a person, or undefined for the middle of the range.
 * @param {any[]} used
 * @param {boolean} plain
 * @returns {number | undefined} */
function typicalOf(used, plain) {
    if (used.every(({ kind }) => kind !== "numeric")) return used.reduce((product, feature) => product * shareOf(feature), 1);
    return plain ? used[0].typical : undefined;
}

/** A range of the same width about a value; as it is where that is its middle.
 * @param {number | undefined} value
 * @param {{ low: number, high: number }} range */
function about(value, { low, high }) {
    const half = high / 2 - low / 2;
    return value === undefined || value === low / 2 + high / 2 ? { low, high } : { low: value - half, high: value + half };
}

/** @param {Factor[]} factors
 *  @param {{ low?: number, high?: number }} bounds  of its own
 *  @param {Feature[]} features
 *  @param {boolean} isBallot
 *  @returns {Coordinate[]} */
function expand(factors, bounds, features, isBallot) {
    const places = factors.map(({ column }) => features.findIndex(({ name }) => name === column));
    if (places.includes(-1)) throw new TremoloError("BAD_STUDY", "a term names no feature");
    const used = places.map((place) => features[place]);
    const [{ kind, power, shift }] = factors;
    const plain = factors.length === 1 && kind !== "log" && power === 1 && shift === 0;
    const first = used[0];
    const own = plain && first.kind === "numeric" ? first : { low: 0, high: 1, ...bounds };
    const range = isBallot ? about(typicalOf(used, plain), own) : { low: own.low, high: own.high };
    const floors = used.map((feature) => (feature.kind === "numeric" ? feature.low : NaN));
    return levelsOf(used).map((levels) => ({
        name: factors.map((factor, i) => factorName(factor, used[i], levels[i])).join(":"),
        unit: plain ? first.unit : "",
        ...range,
        value: (values) => factors.reduce((product, factor, i) => (
            product * factorValue(values[places[i]], factor, levels[i], floors[i])), 1),
    }));
}

/** The coordinates of a study in the order of its coefficients. `value` takes a number for each
 * feature: of a category the place of its level, of yes/no 0 or 1. A ballot's ranges lie about
 * what is typical.
 * @param {{ features: Feature[], terms?: (string | { term: string, low?: number, high?: number })[],
 *   protocol?: Protocol }} study
 * @returns {Coordinate[]} */
export function coordinatesOf({ features, terms, protocol }) {
    const isBallot = protocol?.release === "ballot";
    if (terms === undefined) {
        return features.flatMap(({ name }) => (
            expand([{ column: name, kind: "value", power: 1, shift: 0 }], {}, features, isBallot)));
    }
    return terms.flatMap((written) => {
        const { term, ...bounds } = typeof written === "string" ? { term: written } : written;
        return expand(parseTerm(term), bounds, features, isBallot);
    });
}
