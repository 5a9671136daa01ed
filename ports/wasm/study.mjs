/* study.mjs -- a published study as a device needs it: checked, and as integers.
 *
 * docs/reference/protocol.md says what a device must check: the id recomputed from the terms, the signature
 * of the server's key, the key itself pinned. What the id does not cover is dropped. */
import { agreed, fromBase64, studyId, toBase64 } from "./study_id.mjs";
import { coordinatesOf } from "./terms.mjs";
import { TremoloError } from "./tremolo.mjs";

const RAW_MAX = 1073741823;
const RAW_TYPICAL = 134217728; /* where a ballot's typical range ends */
const REACH = 8; /* half ranges from the middle that a ballot's values may lie */
const REQUEST_MS = 20000;
const STUDY_BYTES_MAX = 320 * 1024;
const ROUND_BYTES_MAX = 2 * 1024 * 1024;

/** @typedef {{ name: string, unit: string, kind: "numeric", low: number, high: number, typical?: number, missing?: number }} NumericFeature
 *  @typedef {{ name: string, unit: string, kind: "category", levels: string[], missing?: string }} CategoryFeature
 *  @typedef {{ name: string, unit: string, kind: "yes-no", typical?: number, missing?: "yes" | "no" }} YesNoFeature
 *  @typedef {NumericFeature | CategoryFeature | YesNoFeature} Feature
 *  @typedef {{ name: string, unit: string, low: number, high: number }} Response
 *  @typedef {Object} Terms  what the id covers of a study, docs/reference/protocol.md
 *  @property {string} title
 *  @property {string} purpose
 *  @property {Feature[]} features
 *  @property {(string | { term: string, low?: number, high?: number })[]} [terms]  that coordinates are computed by
 *  @property {Response} response
 *  @property {{ epsilon: number, delta: number, clip?: number, protects: "features" | "all", neighbours: "any" | { distance: number } }} privacy
 *  @property {{ kind: string, release?: string, rounds?: number, vectors?: number }} protocol
 *  @property {{ devices: number, samples: number, opens?: string, closes?: string, enrolment: "open" | "keys" }} limits
 *  @property {Record<string, number>} mechanism
 *  @typedef {{ id: string, key: string, signature: string, study: any }} Published
 *  @typedef {Record<string, number | string | boolean>} Values  by the names of the features and of the response
 *  @typedef {{ state: "open", number: number, vectors: number[][] }} OpenRound
 *  @typedef {OpenRound | { state: "waiting" | "done" }} Round
 *  @typedef {Object} Trust
 *  @property {string} [serverKey]  the server's key, pinned, as `tremolo serve` prints it
 *  @property {boolean} [trustNew]  take whatever key the server shows; pin study.key afterwards */

/* ------------------------------------------------------------------ terms */

/** Coordinates are those of the protocol: a numeric or yes/no feature is one, a category of k
 * levels is k - 1, named feature=level; with terms they are the terms'. `range` is from the lower
 * bound to the upper one.
 * @param {Terms} terms
 * @returns {{ name: string, unit: string, range: number }[]} in the order in which the server lists coefficients */
export function coordinates(terms) {
    return coordinatesOf(terms).map(({ name, unit, low, high }) => ({ name, unit, range: high - low }));
}

/** Is a random answer sent in place of noisy values?
 * @param {Terms} terms */
export const isBallot = (terms) => terms.protocol?.release === "ballot";

/** Releases of one device over the whole study.
 * @param {Terms} terms */
export function releases(terms) {
    return (terms.protocol.rounds ?? 1) * (terms.limits.samples ?? 1);
}

/* --------------------------------------------------------------- integers */

/** @param {string} words
 *  @returns {never} */
const badSample = (words) => {
    throw new TremoloError("BAD_SAMPLE", words);
};

/* Half to even, as rint() does. */
/** @param {number} value */
function nearest(value) {
    const rounded = Math.round(value);
    return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** @param {unknown} value
 *  @param {number} low
 *  @param {number} high
 *  @param {string} name */
function raw(value, low, high, name) {
    if (typeof value !== "number" || !Number.isFinite(value)) return badSample(`${name} is not a number`);
    const share = Math.min(Math.max((value - low) / (high - low), 0), 1);
    return nearest(share * 2 * RAW_MAX) - RAW_MAX;
}

/* A feature's value between its bounds, or within a ballot's reach. */
/** @param {unknown} value
 *  @param {number} low
 *  @param {number} high
 *  @param {number} reach
 *  @param {string} name */
function rawWithin(value, low, high, reach, name) {
    const middle = low / 2 + high / 2;
    const half = high / 2 - low / 2;
    return reach === 1 ? raw(value, low, high, name) : raw(value, middle - reach * half, middle + reach * half, name);
}

/* A feature's value as a number: of a category the place of its level, of yes/no 0 or 1. What
 * replaces a missing one is the study's. */
/** @param {Feature} feature
 *  @param {unknown} given */
function numberOf(feature, given) {
    const value = given === undefined || given === null || given === "" ? feature.missing : given;
    if (value === undefined) return badSample(`${feature.name} is missing`);
    if (feature.kind === "category") {
        const level = feature.levels.indexOf(String(value));
        return level < 0 ? badSample(`${feature.name} has no such level`) : level;
    }
    if (feature.kind === "numeric") {
        return typeof value === "number" && Number.isFinite(value) ? value : badSample(`${feature.name} is not a number`);
    }
    const place = [false, "no", 0, true, "yes", 1].indexOf(/** @type {any} */ (value));
    return place < 0 ? badSample(`${feature.name} is neither yes nor no`) : place < 3 ? 0 : 1;
}

/* The integers of struct tremolo_study, charged as between any two people. */
/** @param {Terms} terms
 *  @param {Uint8Array} id
 *  @returns {import("./tremolo.mjs").StudyIntegers} */
function integersOf(terms, id) {
    const dimension = coordinates(terms).length;
    const ends = isBallot(terms) ? RAW_TYPICAL : RAW_MAX;
    return {
        ...terms.mechanism,
        id,
        dimension,
        release: isBallot(terms) ? 1 : 0,
        distance: 0,
        vectors: terms.protocol.vectors ?? 0,
        rounds: terms.protocol.rounds ?? 1,
        samples: terms.limits.samples,
        response: terms.privacy.protects === "all" ? 1 : 0,
        bounds: Array(dimension).fill([-ends, ends]),
        response_bounds: [-RAW_MAX, RAW_MAX],
    };
}

/* ------------------------------------------------------------------ trust */

/** @param {string} words */
const label = (words) => [...new TextEncoder().encode(words), 0];

/* True, false, or null where the runtime cannot check Ed25519. */
/** @param {Uint8Array} key
 *  @param {Uint8Array} signature
 *  @param {number[]} parts */
async function signatureHolds(key, signature, parts) {
    try {
        const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
        return await crypto.subtle.verify({ name: "Ed25519" }, imported, signature, Uint8Array.from(parts));
    } catch {
        return null;
    }
}

/* The JSON at an address, of so many bytes at most. */
/** @param {string} url
 *  @param {number} bytesMax */
async function getJson(url, bytesMax) {
    /** @type {globalThis.Response} */
    let response;
    try {
        response = await fetch(url, { signal: /** @type {any} */ (AbortSignal).timeout(REQUEST_MS), cache: "no-store" });
    } catch {
        throw new TremoloError("NETWORK_FAILED", "the server cannot be reached");
    }
    if (!response.ok) throw new TremoloError("BAD_ANSWER", `the server answered ${response.status}`);
    /** @type {Uint8Array[]} */
    const parts = [];
    let length = 0;
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
        length += read.value.length;
        if (length > bytesMax) {
            await reader.cancel();
            throw new TremoloError("BAD_ANSWER", `the answer has more than ${bytesMax} bytes`);
        }
        parts.push(read.value);
    }
    try {
        return JSON.parse(await new Blob(parts).text());
    } catch {
        throw new TremoloError("BAD_ANSWER", "the answer is not JSON");
    }
}

/* ------------------------------------------------------------------ the study */

export class Study {
    /** @private
     *  @param {{ id: Uint8Array, url: string, key: string, isSigned: boolean, terms: Terms }} parts */
    constructor({ id, url, key, isSigned, terms }) {
        this.id = id;
        /** The id in base64url, as in the address. */
        this.name = toBase64(id);
        this.url = url;
        /** The server's key in base64url: what to pin. */
        this.key = key;
        /** False where this runtime cannot check Ed25519; a wrong signature is refused. */
        this.isSigned = isSigned;
        this.terms = terms;
        this.integers = integersOf(terms, id);
        this.isBallot = isBallot(terms);
    }

    /** Fetch a study by its address, https://SERVER/v1/studies/ID, and check it.
     * @param {string} url
     * @param {Trust} trust */
    static async fetch(url, trust) {
        const address = url.replace(/\/+$/, "");
        return Study.receive(await getJson(address, STUDY_BYTES_MAX), { ...trust, url: address });
    }

    /** Check a published study that came another way against the id at the end of its address:
     * WRONG_STUDY, BAD_SIGNATURE or NOT_TRUSTED.
     * @param {Published} published
     * @param {Trust & { url: string }} trust
     * @returns {Promise<Study>} */
    static async receive(published, { url, serverKey, trustNew = false }) {
        const id = studyId(published.study);
        if (toBase64(id) !== url.slice(url.lastIndexOf("/") + 1)) {
            throw new TremoloError("WRONG_STUDY", "the server sent another study than the address names");
        }
        if (serverKey === undefined ? !trustNew : serverKey !== published.key) {
            throw new TremoloError("NOT_TRUSTED", serverKey === undefined
                ? "no server key is pinned, and trusting a new one was not allowed" : "the server has another key than the pinned one");
        }
        const signed = await signatureHolds(fromBase64(published.key), fromBase64(published.signature),
            [...label("tremolo study 1"), ...id]);
        if (signed === false) throw new TremoloError("BAD_SIGNATURE", "the study's signature is wrong");
        return new Study({ id, url, key: published.key, isSigned: signed === true, terms: agreed(published.study) });
    }

    /** The current round, asked of the server; only an open one takes reports.
     * @returns {Promise<Round>} */
    async round() {
        const round = await getJson(`${this.url}/round`, ROUND_BYTES_MAX);
        if (round.state !== "open") return { state: round.state };
        /** @type {number[]} */
        const numbers = [round.round, ...round.vectors.flat()];
        const entries = numbers.flatMap((value) => [(value >> 8) & 255, value & 255]);
        const signed = await signatureHolds(fromBase64(this.key), fromBase64(round.signature),
            [...label("tremolo round 1"), ...this.id, ...entries]);
        if (signed === false) throw new TremoloError("BAD_SIGNATURE", "the round's signature is wrong");
        return { state: "open", number: round.round, vectors: round.vectors };
    }

    /** A sample's values as the core's integers. A number beyond its bounds counts as the bound; a
     * ballot's features reach further. BAD_SAMPLE names what is missing or wrong.
     * @param {Values} values
     * @param {number} [number]  which sample of this round, from 0
     * @returns {import("./tremolo.mjs").SampleIntegers} */
    sampleOf(values, number = 0) {
        const { features, response } = this.terms;
        const known = new Set([...features, response].map(({ name }) => name));
        for (const name of Object.keys(values)) if (!known.has(name)) badSample(`the study does not ask for ${name}`);
        if (!Object.hasOwn(values, response.name)) badSample(`${response.name} is missing`);
        const numbers = features.map((feature) => numberOf(feature, values[feature.name]));
        const reach = this.isBallot ? REACH : 1;
        return {
            number,
            features: coordinatesOf(this.terms).map(({ name, low, high, value }) => (
                rawWithin(value(numbers), low, high, reach, name))),
            response: raw(values[response.name], response.low, response.high, response.name),
        };
    }
}
