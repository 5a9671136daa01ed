/* browser_device.js -- a device that lives in a web page.
 *
 * The WASM core makes the report; this file gives it what docs/protocol.md asks
 * of a device: the study's id recomputed, its signature checked, the policy,
 * a ledger that is durable before a byte leaves, one tab at a time, and the
 * same bytes again until the server has answered. */
import { Tremolo } from '../../ports/wasm/tremolo.mjs';
import * as api from './api.js';
import { LedgerStore } from './ledger_store.js';
import { POLICY, refusal, withinTotal } from './policy.js';
import { fromBase64, studyId, toBase64 } from './study_id.js';
import { coordinates, isBallot, releases } from './study_terms.js';

const RAW_MAX = 1073741823;
const RAW_TYPICAL = 134217728; /* where a ballot's typical range ends */
const REACH = 8; /* half ranges from the middle that a ballot's values may lie */
const STUDIES = 16;
const LOCK = 'tremolo-device';
const PINNED = 'tremolo-server-key';
const LATER = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A refusal in words that can be shown. */
export class Refused extends Error {}

/* ---------------------------------------------------------------- integers */

/* Half to even, as rint() does. */
function nearest(value) {
    const rounded = Math.round(value);
    return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

function raw(value, low, high) {
    if (!Number.isFinite(value)) throw new Refused('A number is missing.');
    const share = Math.min(Math.max((value - low) / (high - low), 0), 1);
    return nearest(share * 2 * RAW_MAX) - RAW_MAX;
}

/* A feature's value between its bounds, or within a ballot's reach. */
function rawWithin(value, low, high, reach) {
    const middle = low / 2 + high / 2;
    const half = high / 2 - low / 2;
    return reach === 1 ? raw(value, low, high) : raw(value, middle - reach * half, middle + reach * half);
}

function rawOfFeature(feature, value, reach) {
    if (feature.kind === 'category') {
        const level = feature.levels.indexOf(value);
        if (level < 0) throw new Refused(`${feature.name} has no such level.`);
        return feature.levels.slice(1).map((_, i) => rawWithin(i + 1 === level ? 1 : 0, 0, 1, reach));
    }
    return feature.kind === 'yes-no' ? [rawWithin(value === 'yes' ? 1 : 0, 0, 1, reach)]
        : [rawWithin(Number(value), feature.low, feature.high, reach)];
}

/** Values by feature, the response last, as the device's integers. */
export function sampleOf(study, values) {
    const last = study.features.length;
    const reach = isBallot(study) ? REACH : 1;
    return {
        number: 0,
        features: study.features.flatMap((feature, i) => rawOfFeature(feature, values[i], reach)),
        response: raw(Number(values[last]), study.response.low, study.response.high),
    };
}

/** The integers of struct tremolo_study, charged as between any two people. */
export function deviceStudy(study, id) {
    const dimension = coordinates(study).length;
    const ends = isBallot(study) ? RAW_TYPICAL : RAW_MAX;
    return {
        ...study.mechanism,
        id,
        dimension,
        release: isBallot(study) ? 1 : 0,
        distance: 0,
        vectors: study.protocol.vectors ?? 0,
        rounds: study.protocol.rounds ?? 1,
        samples: study.limits.samples,
        response: study.privacy.protects === 'all' ? 1 : 0,
        bounds: Array(dimension).fill([-ends, ends]),
        response_bounds: [-RAW_MAX, RAW_MAX],
    };
}

/* ---------------------------------------------------------------- platform */

/* A ledger in memory that remembers what was written, in order. */
function memoryPlatform(slots) {
    const writes = [];
    return {
        writes,
        studies: STUDIES,
        entropy: (bytes) => crypto.getRandomValues(bytes),
        read: (slot) => slots.get(slot) ?? null,
        write: (slot, bytes) => {
            slots.set(slot, bytes);
            writes.push({ slot, bytes });
        },
    };
}

/* The 15 low bits of `epsilon` in struct tremolo_slot: no budget for ballots. */
const madeBeforeBallots = (slot) => slot[26] === 0 && (slot[27] & 127) === 0;

/* How a core answers that has nothing to repeat and may not make anything. */
const NOTHING_STORED = new Set(['NO_ENTROPY', 'LEDGER_MISSING', 'BUDGET_EXHAUSTED', 'LEDGER_FULL']);

const LEDGER_WORDS = {
    LEDGER_DAMAGED: 'This browser’s record of what it has spent is damaged. It cannot know what it may still give, so it gives nothing.',
    BUDGET_EXHAUSTED: 'This browser has spent its whole privacy budget. It will not contribute to any study of this server again.',
    LEDGER_FULL: `This browser has contributed to ${STUDIES} studies of this server, which is all it keeps room for.`,
    ROUND_PASSED: 'This browser has contributed to a later round of this study already.',
};

function inWords(error) {
    return error.statusName ? new Refused(LEDGER_WORDS[error.statusName] ?? `The device refused: ${error.statusName}.`) : error;
}

/* ---------------------------------------------------------------- trust */

/* True, false, or null when this browser cannot check Ed25519. */
async function signatureHolds(key, signature, parts) {
    try {
        const imported = await crypto.subtle.importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
        return await crypto.subtle.verify({ name: 'Ed25519' }, imported, signature, Uint8Array.from(parts));
    } catch {
        return null;
    }
}

const label = (words) => [...new TextEncoder().encode(words), 0];

/** Check a published study against the id in the address. */
export async function receive(published, wanted) {
    const id = studyId(published.study);
    if (toBase64(id) !== wanted) throw new Refused('The server sent another study than the address names. Nothing is asked.');
    const key = fromBase64(published.key);
    const signed = await signatureHolds(key, fromBase64(published.signature), [...label('tremolo study 1'), ...id]);
    if (signed === false) throw new Refused('The study’s signature is wrong. Nothing is asked.');
    const pinned = localStorage.getItem(PINNED);
    if (pinned !== null && pinned !== published.key) {
        throw new Refused('This server had another key when this browser last contributed. Nothing is asked.');
    }
    return { id, key, keyText: published.key, signed: signed === true, study: published.study };
}

async function openRound(trusted, idText) {
    const round = await api.get(`/v1/studies/${idText}/round`);
    if (round.state !== 'open') return { state: round.state };
    const entries = [round.round, ...round.vectors.flat()].flatMap((value) => [(value >> 8) & 255, value & 255]);
    const signed = await signatureHolds(trusted.key, fromBase64(round.signature),
        [...label('tremolo round 1'), ...trusted.id, ...entries]);
    if (signed === false) throw new Refused('The round’s signature is wrong. Nothing is sent.');
    return { state: 'open', number: round.round, vectors: round.vectors };
}

/* ---------------------------------------------------------------- the device */

export class BrowserDevice {
    /** @param {ArrayBuffer} core  tremolo.wasm */
    constructor(core, trusted) {
        this.core = core;
        this.trusted = trusted;
        this.idText = toBase64(trusted.id);
        this.integers = deviceStudy(trusted.study, trusted.id);
    }

    /** What this browser lacks to be a device, in words, or null. */
    static missing() {
        if (!globalThis.isSecureContext) return 'This page came over plain HTTP. Contributing needs HTTPS.';
        if (!navigator.locks || !globalThis.indexedDB || !globalThis.WebAssembly) return 'This browser is too old to contribute.';
        return null;
    }

    round() {
        return openRound(this.trusted, this.idText);
    }

    /** One report's charge, and why the study's in all is refused (or null). */
    async cost() {
        const device = await Tremolo.load(this.core, memoryPlatform(new Map()));
        const { charge } = device.cost(this.integers);
        return { charge, refusal: refusal(charge * releases(this.trusted.study), isBallot(this.trusted.study)) };
    }

    /** Does the promise in the server's words follow from the study's integers? */
    async promises(guarantee) {
        const device = await Tremolo.load(this.core, memoryPlatform(new Map()));
        const { charge } = device.cost({ ...this.integers, distance: this.trusted.study.mechanism.distance ?? 0 });
        const times = releases(this.trusted.study);
        const unit = 2 ** -24;
        if (isBallot(this.trusted.study)) return charge * times * unit <= guarantee.epsilon + times * unit;
        /* The core rounds every release's charge up to a unit. */
        return Math.abs(charge * times * unit - guarantee.mu ** 2) <= times * unit + 1e-6 * guarantee.mu ** 2;
    }

    /** What is left of the budget; the whole of it before the first time. */
    async left() {
        return this.#exclusively(async (store) => {
            const device = await this.#load(memoryPlatform(await store.slots()));
            const ballot = isBallot(this.trusted.study);
            if (device.budgetOrNull() === null) return ballot ? POLICY.epsilon : POLICY.budget;
            return ballot ? device.epsilon() : device.budget();
        });
    }

    /** The bytes of this round's report if there is one, or null. */
    stored(round) {
        return this.#exclusively(async (store) => this.#repeat(await store.slots(), round));
    }

    /** Make this round's report, or find it, and have it durable; nothing is sent. */
    make(round, sample) {
        return this.#exclusively(async (store) => {
            const slots = await store.slots();
            const found = await this.#repeat(slots, round);
            if (found !== null) return found;
            const platform = memoryPlatform(slots);
            const device = await this.#load(platform);
            if (device.budgetOrNull() === null) await this.#enrol(store, device, platform);
            return this.#release(store, device, platform, round, sample);
        });
    }

    /** Send once: the receipt, or null when it may succeed later. */
    async send(bytes) {
        let response;
        try {
            response = await fetch(`/v1/studies/${this.idText}/reports`, {
                method: 'POST', headers: { 'Content-Type': 'application/cbor' }, body: bytes,
                signal: AbortSignal.timeout(20000),
            });
        } catch {
            return null;
        }
        if (LATER.has(response.status)) return null;
        const answer = await response.json().catch(() => ({}));
        if (!response.ok) throw new Refused(`The server does not take it: ${answer.detail ?? response.status}.`);
        return answer;
    }

    /** Has the server said that it has these very bytes? */
    wasAnswered(round, bytes) {
        return this.#exclusively(async (store) => {
            const answer = await store.answer(this.idText);
            return answer?.round === round.number && answer.bytes.length === bytes.length
                && answer.bytes.every((byte, i) => byte === bytes[i]);
        });
    }

    noteAnswer(round, bytes) {
        return this.#exclusively((store) => store.noteAnswer(this.idText, { round: round.number, bytes }));
    }

    /** The integers in a report. */
    async read(bytes) {
        const device = await Tremolo.load(this.core, memoryPlatform(new Map()));
        return device.decode(this.integers, bytes);
    }

    /** A report of a person in the middle of all bounds, from a ledger that is thrown away. */
    async example(vectors) {
        const device = await Tremolo.load(this.core, memoryPlatform(new Map()));
        const study = this.trusted.study;
        const middle = (at) => (at.low + at.high) / 2;
        const values = study.features.map((feature) => (
            feature.kind === 'category' ? feature.levels[0] : feature.kind === 'yes-no' ? 'no' : middle(feature)));
        device.enrol(2 ** 32 - 1, 2 ** 31 - 1);
        return device.report(this.integers, { number: 0, vectors },
            sampleOf(study, [...values, middle(study.response)]));
    }

    async #load(platform) {
        const device = await Tremolo.load(this.core, platform);
        try {
            if (device.budgetOrNull() === null && LedgerStore.wasEnrolled()) {
                throw new Refused('This browser has contributed here before, and its record of what it has spent is gone. It cannot know what it may still give, so it gives nothing.');
            }
        } catch (error) {
            throw inWords(error);
        }
        return device;
    }

    async #enrol(store, device, platform) {
        device.enrol(POLICY.budget, POLICY.epsilon);
        await store.commit(platform.writes.splice(0));
        LedgerStore.markEnrolled();
        localStorage.setItem(PINNED, this.trusted.keyText);
        await navigator.storage?.persist?.();
    }

    /* The core keeps two budgets; the policy's total is over both. */
    #checkTotal(device, platform) {
        const { charge } = device.cost(this.integers);
        const pure = isBallot(this.trusted.study) ? charge : 0;
        const isOld = madeBeforeBallots(platform.read(0));
        if (pure > 0 && isOld) {
            throw new Refused('This browser’s record of what it has spent was begun before there were studies of this kind, and has no room for them. Nothing is sent.');
        }
        const spentPure = isOld ? 0 : POLICY.epsilon - device.epsilon();
        if (!withinTotal(POLICY.budget - device.budget() + charge - pure, spentPure + pure)) {
            throw new Refused(LEDGER_WORDS.BUDGET_EXHAUSTED);
        }
    }

    async #release(store, device, platform, round, sample) {
        try {
            this.#checkTotal(device, platform);
            const bytes = device.report(this.integers, round, sample);
            await store.commit(platform.writes.splice(0));
            return bytes;
        } catch (error) {
            throw inWords(error);
        }
    }

    /* A core without entropy can repeat and nothing else: what it gives was
     * made before, whatever sample it is asked with. */
    async #repeat(slots, round) {
        const device = await this.#load({ ...memoryPlatform(slots), entropy: () => { throw new Error('none'); } });
        const nothing = { number: 0, features: Array(this.integers.dimension).fill(0), response: 0 };
        try {
            return device.report(this.integers, round, nothing);
        } catch (error) {
            if (NOTHING_STORED.has(error.statusName)) return null;
            throw inWords(error);
        }
    }

    /* One tab at a time; the others wait, and then see what this one did. */
    #exclusively(work) {
        return navigator.locks.request(LOCK, async () => {
            const store = await LedgerStore.open();
            try {
                return await work(store);
            } finally {
                store.close();
            }
        });
    }
}
