/* study_id.mjs -- the id of a study, computed here and not believed.
 *
 * docs/reference/protocol.md, section 2: BLAKE2b-256 of the study's one encoding in
 * CBOR. The published study writes out every default, so nothing is filled
 * in here. BLAKE2b is RFC 7693; browsers do not bring it. */

/* ---------------------------------------------------------------- BLAKE2b */

const MASK = (1n << 64n) - 1n;
const START = [
    0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const ORDER = [
    '0123456789abcdef', 'ea489fd61c02b753', 'b8c052fdae367194', '7931dcbe265a40f8',
    '905724afe1bc683d', '2c6a0b834d75fe19', 'c51fed4a0763928b', 'db7ec13950f4862a',
    '6fe9b308c2d714a5', 'a2847615fb9e3cd0',
].map((row) => Array.from(row, (digit) => parseInt(digit, 16)));
const MIXED = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
    [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];

/** @param {bigint} word
 *  @param {bigint} bits */
const turn = (word, bits) => ((word >> bits) | (word << (64n - bits))) & MASK;

/** @param {bigint[]} v
 *  @param {number[]} places */
function mix(v, [a, b, c, d], x, y) {
    v[a] = (v[a] + v[b] + x) & MASK;
    v[d] = turn(v[d] ^ v[a], 32n);
    v[c] = (v[c] + v[d]) & MASK;
    v[b] = turn(v[b] ^ v[c], 24n);
    v[a] = (v[a] + v[b] + y) & MASK;
    v[d] = turn(v[d] ^ v[a], 16n);
    v[c] = (v[c] + v[d]) & MASK;
    v[b] = turn(v[b] ^ v[c], 63n);
}

/** @param {bigint[]} state */
function compress(state, block, counted, last) {
    const view = new DataView(block.buffer);
    const m = Array.from({ length: 16 }, (_, i) => view.getBigUint64(8 * i, true));
    const v = [...state, ...START];
    v[12] ^= BigInt(counted);
    if (last) v[14] ^= MASK;
    for (let round = 0; round < 12; round++) {
        const order = ORDER[round % 10];
        MIXED.forEach((places, i) => mix(v, places, m[order[2 * i]], m[order[2 * i + 1]]));
    }
    return state.map((word, i) => word ^ v[i] ^ v[i + 8]);
}

/** 32 bytes.
 * @param {Uint8Array} bytes */
export function blake2b256(bytes) {
    let state = [...START];
    state[0] ^= 0x01010020n; /* 32 bytes, no key */
    for (let at = 0; at === 0 || at < bytes.length; at += 128) {
        const block = new Uint8Array(128);
        block.set(bytes.subarray(at, at + 128));
        const counted = Math.min(at + 128, bytes.length);
        state = compress(state, block, counted, counted === bytes.length);
    }
    const out = new DataView(new ArrayBuffer(32));
    state.slice(0, 4).forEach((word, i) => out.setBigUint64(8 * i, word, true));
    return new Uint8Array(out.buffer);
}

/* ---------------------------------------------------------------- encoding */

function head(major, value) {
    const bytes = value < 24 ? 0 : value < 2 ** 8 ? 1 : value < 2 ** 16 ? 2 : value < 2 ** 32 ? 4 : 8;
    const first = (major << 5) + (bytes === 0 ? value : 24 + Math.log2(bytes));
    const rest = Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** (bytes - 1 - i)) % 256);
    return [first, ...rest];
}

const uint = (value) => {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('not a natural number');
    return head(0, value);
};
const text = (value) => {
    const bytes = new TextEncoder().encode(value);
    return [...head(3, bytes.length), ...bytes];
};
const array = (...items) => [...head(4, items.length), ...items.flat()];
const real = (value) => {
    const view = new DataView(new ArrayBuffer(8));
    if (!Number.isFinite(value)) throw new RangeError('not a number');
    view.setFloat64(0, value === 0 ? 0 : value);
    return [0xfb, ...new Uint8Array(view.buffer)];
};
const choice = (value, words) => uint(words.indexOf(value));
const date = (value) => (value === undefined ? [0xf6] : uint(Date.parse(value) / 1000));

function feature(from) {
    const numeric = from.kind === 'numeric';
    return array(text(from.name), text(from.unit), choice(from.kind, ['numeric', 'category', 'yes-no']),
        real(numeric ? from.low : 0), real(numeric ? from.high : 1), array(...(from.levels ?? []).map(text)));
}

function protocol(from) {
    return array(choice(from.kind, ['one-shot', 'iterative']),
        choice(from.calibration, ['exact', 'zcdp', 'paper']), uint(from.rounds ?? 1), uint(from.vectors),
        real(from.alpha), real(from.lambda ?? 0), real(from.omega ?? 0), real(from.radius ?? 0),
        real(from.step ?? 0), uint(from.close?.reports ?? 0), uint(from.close?.seconds ?? 0));
}

const SAMPLE = ['noise_log2', 'wire_shift', 'wire_bits', 'keep', 'unit', 'clip', 'distance', 'amplitude', 'frequency'];
const BALLOT = ['constant', 'response_weight', 'rank_first', 'rank_top'];

function terms({ privacy, protocol: how, limits, mechanism }) {
    const ballot = how.release === 'ballot';
    const protects = choice(privacy.protects, ['features', 'all']);
    const limited = array(uint(limits.devices), uint(limits.samples), date(limits.opens), date(limits.closes),
        choice(limits.enrolment, ['open', 'keys']));
    const integers = array(...(ballot ? BALLOT : SAMPLE).map((name) => uint(mechanism[name])));
    if (ballot) return [array(real(privacy.epsilon), protects), array(uint(1)), limited, integers];
    return [array(real(privacy.epsilon), real(privacy.delta), real(privacy.neighbours.distance ?? 0),
        real(privacy.clip), protects), protocol(how), limited, integers];
}

const NOTHING = [0xf6];

/* The number that replaces a feature's missing values, or nothing. */
function missing({ kind, levels, missing: value }) {
    if (value === undefined) return NOTHING;
    if (kind === 'numeric') return real(value);
    const place = (kind === 'category' ? levels : ['no', 'yes']).indexOf(value);
    return place < 0 ? uint(place) : real(place);
}

const bound = (value) => (value === undefined ? NOTHING : real(value));

function term(from) {
    return typeof from === 'string' ? array(text(from), NOTHING, NOTHING)
        : array(text(from.term), bound(from.low), bound(from.high));
}

const isDerived = ({ features, terms: written }) => written !== undefined
    || features.some((from) => from.missing !== undefined);

/* What makes coordinates of features, in studies that say so. */
function derivation(study) {
    if (!isDerived(study)) return [];
    return [array(...study.features.map(missing)), array(...(study.terms ?? []).map(term))];
}

/* What a ballot's features say is typical, where ranges need not be the written ones. */
function typical({ features, terms: written, protocol: how }) {
    const has = written !== undefined || features.some((from) => from.typical !== undefined || from.kind === 'category');
    return has && how.release === 'ballot' ? [array(...features.map((from) => bound(from.typical)))] : [];
}

function canonical(study) {
    const { response } = study;
    const scaled = typical(study);
    const version = (study.protocol.release === 'ballot' ? 2 : study.tremolo) + (isDerived(study) ? 2 : 0) + 4 * scaled.length;
    return Uint8Array.from(array(text('tremolo study'), uint(version), text(study.title), text(study.purpose),
        array(...study.features.map(feature)),
        array(text(response.name), text(response.unit), real(response.low), real(response.high)),
        ...derivation(study), ...scaled, ...terms(study)));
}

/** The 32 bytes of a published study's id.
 * @param {any} study */
export function studyId(study) {
    return blake2b256(canonical(study));
}

const pick = (from, ...names) => Object.fromEntries(
    names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]));

const IN_FEATURE = { numeric: ['low', 'high'], category: ['levels'], 'yes-no': [] };

/** What the id covers of a published study. All that a participant is shown comes from here: a
 *  server could change any other member, such as response.sent, and keep the id.
 * @param {any} study
 * @returns {import("./study.mjs").Terms} */
export function agreed({ features, response, privacy, protocol: how, limits, mechanism, ...rest }) {
    const ballot = how.release === 'ballot';
    const distance = ballot ? 0 : privacy.neighbours.distance ?? 0;
    return {
        tremolo: ballot ? 2 : rest.tremolo,
        ...pick(rest, 'title', 'purpose'),
        features: features.map((from) => pick(from, 'name', 'unit', 'kind', 'missing', ...IN_FEATURE[from.kind],
            ...(ballot && from.kind !== 'category' ? ['typical'] : []))),
        ...(rest.terms === undefined ? {} : { terms: rest.terms.map((from) => (
            typeof from === 'string' ? from : pick(from, 'term', 'low', 'high'))) }),
        response: pick(response, 'name', 'unit', 'low', 'high'),
        privacy: {
            ...(ballot ? { delta: 0 } : pick(privacy, 'delta', 'clip')),
            ...pick(privacy, 'epsilon', 'protects'),
            neighbours: distance > 0 ? { distance } : 'any',
        },
        protocol: ballot ? { kind: 'one-shot', release: 'ballot' }
            : { rounds: 1, lambda: 0, omega: 0, radius: 0, step: 0,
                ...pick(how, 'kind', 'calibration', 'rounds', 'vectors', 'alpha', 'lambda', 'omega', 'radius', 'step'),
                close: { reports: 0, seconds: 0, ...pick(how.close ?? {}, 'reports', 'seconds') } },
        limits: pick(limits, 'devices', 'samples', 'opens', 'closes', 'enrolment'),
        mechanism: pick(mechanism, ...(ballot ? BALLOT : SAMPLE)),
    };
}

/* ---------------------------------------------------------------- base64url */

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
    return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
}

/** @param {string} words */
export function fromBase64(words) {
    const plain = atob(words.replace(/-/g, '+').replace(/_/g, '/'));
    return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}
