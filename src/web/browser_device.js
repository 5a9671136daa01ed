/* browser_device.js -- a device that lives in a web page.
 *
 * The core makes the report, and ports/wasm/device.mjs keeps its ledger: durable before a
 * byte leaves, one tab at a time, the same bytes on a repeat. This file adds what
 * docs/protocol.md asks of a device beside that: the study's id recomputed, its signature
 * checked, the policy, and sending until the server has answered. */
import { Device } from '../../ports/wasm/device.mjs';
import { IndexedDbStore } from '../../ports/wasm/store_indexeddb.mjs';
import { MemoryStore } from '../../ports/wasm/store_memory.mjs';
import * as api from './api.js';
import { POLICY, refusal, withinTotal } from './policy.js';
import { agreed, fromBase64, studyId, toBase64 } from './study_id.js';
import { coordinates, isBallot, releases } from './study_terms.js';

const RAW_MAX = 1073741823;
const RAW_TYPICAL = 134217728; /* where a ballot's typical range ends */
const REACH = 8; /* half ranges from the middle that a ballot's values may lie */
const STUDIES = 16;
const STORE = 'tremolo-device';
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

/* ---------------------------------------------------------------- refusals */

const LEDGER_WORDS = {
    LEDGER_LOST: 'This browser has contributed here before, and its record of what it has spent is gone. It cannot know what it may still give, so it gives nothing.',
    LEDGER_DAMAGED: 'This browser’s record of what it has spent is damaged. It cannot know what it may still give, so it gives nothing.',
    BUDGET_EXHAUSTED: 'This browser has spent its whole privacy budget. It will not contribute to any study of this server again.',
    LEDGER_FULL: `This browser has contributed to ${STUDIES} studies of this server, which is all it keeps room for.`,
    ROUND_PASSED: 'This browser has contributed to a later round of this study already.',
};

/* A promise whose refusals by the core are told in words. */
function inWords(promise) {
    return promise.catch((error) => {
        throw error.statusName ? new Refused(LEDGER_WORDS[error.statusName] ?? `The device refused: ${error.statusName}.`) : error;
    });
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
    return { id, key, keyText: published.key, signed: signed === true, study: agreed(published.study) };
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
        this.store = new IndexedDbStore(STORE);
        this.device = new Device(core, this.store, { studies: STUDIES });
    }

    /** What this browser lacks to be a device, in words, or null. */
    static missing() {
        if (!globalThis.isSecureContext) return 'This page came over plain HTTP. Contributing needs HTTPS.';
        if (!IndexedDbStore.isPossible() || !globalThis.WebAssembly) return 'This browser is too old to contribute.';
        return null;
    }

    round() {
        return openRound(this.trusted, this.idText);
    }

    /** One report's charge, and why the study's in all is refused (or null). */
    async cost() {
        const { charge } = await this.device.cost(this.integers);
        return { charge, refusal: refusal(charge * releases(this.trusted.study), isBallot(this.trusted.study)) };
    }

    /** Does the promise in the server's words follow from the study's integers? */
    async promises(guarantee) {
        const { charge } = await this.device.cost({ ...this.integers, distance: this.trusted.study.mechanism.distance ?? 0 });
        const times = releases(this.trusted.study);
        const unit = 2 ** -24;
        if (isBallot(this.trusted.study)) return charge * times * unit <= guarantee.epsilon + times * unit;
        /* The core rounds every release's charge up to a unit. */
        return Math.abs(charge * times * unit - guarantee.mu ** 2) <= times * unit + 1e-6 * guarantee.mu ** 2;
    }

    /** What is left of the budget; the whole of it before the first time. */
    async left() {
        const left = await inWords(this.device.left());
        if (isBallot(this.trusted.study)) return left === null ? POLICY.epsilon : left.epsilon;
        return left === null ? POLICY.budget : left.budget;
    }

    /** The bytes of this round's report if there is one, or null. */
    stored(round) {
        return inWords(this.device.stored(this.integers, round));
    }

    /** Make this round's report, or find it, and have it durable; nothing is sent. */
    async make(round, sample) {
        await inWords(this.#enrolOnce());
        return inWords(this.device.report(this.integers, round, sample, (left, { charge }) => this.#checkTotal(left, charge)));
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
        return this.store.exclusively(async (session) => {
            const answer = await session.answer(this.idText);
            return answer?.round === round.number && answer.bytes.length === bytes.length
                && answer.bytes.every((byte, i) => byte === bytes[i]);
        });
    }

    noteAnswer(round, bytes) {
        return this.store.exclusively((session) => session.noteAnswer(this.idText, { round: round.number, bytes }));
    }

    /** The integers in a report. */
    read(bytes) {
        return this.device.decode(this.integers, bytes);
    }

    /** A report of a person in the middle of all bounds, from a ledger that is thrown away. */
    async example(vectors) {
        const device = new Device(this.core, new MemoryStore());
        const study = this.trusted.study;
        const middle = (at) => (at.low + at.high) / 2;
        const values = study.features.map((feature) => (
            feature.kind === 'category' ? feature.levels[0] : feature.kind === 'yes-no' ? 'no' : middle(feature)));
        await device.enrol(2 ** 32 - 1, 2 ** 31 - 1);
        return device.report(this.integers, { number: 0, vectors },
            sampleOf(study, [...values, middle(study.response)]));
    }

    /* The first contribution enrols, and pins the key; another tab may have been faster. */
    async #enrolOnce() {
        if (await this.device.left() !== null) return;
        await this.device.enrol(POLICY.budget, POLICY.epsilon).catch((error) => {
            if (error.statusName !== 'LEDGER_EXISTS') throw error;
        });
        localStorage.setItem(PINNED, this.trusted.keyText);
    }

    /* The core keeps two budgets; the policy's total is over both. */
    #checkTotal(left, charge) {
        const pure = isBallot(this.trusted.study) ? charge : 0;
        if (pure > 0 && !left.takesBallots) {
            throw new Refused('This browser’s record of what it has spent was begun before there were studies of this kind, and has no room for them. Nothing is sent.');
        }
        const spentPure = left.takesBallots ? POLICY.epsilon - left.epsilon : 0;
        if (!withinTotal(POLICY.budget - left.budget + charge - pure, spentPure + pure)) {
            throw new Refused(LEDGER_WORDS.BUDGET_EXHAUSTED);
        }
    }
}
