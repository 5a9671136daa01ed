/* browser_device.js -- a device that lives in a web page.
 *
 * The package tremolo-device (ports/wasm) makes the report, keeps its ledger, checks the study and
 * sends until the server has answered. This file adds what belongs to a page: where the server's
 * key is pinned, whether the server has answered before, and refusals in words for people. */
import { Device, IndexedDbStore, Study, upload } from 'tremolo-device';
import { POLICY, refusal } from './policy.js';
import { releases } from '../common/study_terms.js';

const STUDIES = 16;
const STORE = 'tremolo-device';
const PINNED = 'tremolo-server-key';

/** A refusal in words that can be shown. */
export class Refused extends Error {}

/* ---------------------------------------------------------------- refusals */

const WORDS = {
    WRONG_STUDY: 'The server sent another study than the address names. Nothing is asked.',
    BAD_SIGNATURE: 'The server’s signature is wrong. Nothing is asked.',
    NOT_TRUSTED: 'This server had another key when this browser last contributed. Nothing is asked.',
    LEDGER_LOST: 'This browser has contributed here before, and its record of what it has spent is gone. It cannot know what it may still give, so it gives nothing.',
    LEDGER_DAMAGED: 'This browser’s record of what it has spent is damaged. It cannot know what it may still give, so it gives nothing.',
    BUDGET_EXHAUSTED: 'This browser has spent its whole privacy budget. It will not contribute to any study of this server again.',
    LEDGER_FULL: `This browser has contributed to ${STUDIES} studies of this server, which is all it keeps room for.`,
    ROUND_PASSED: 'This browser has contributed to a later round of this study already.',
};
const wordsOf = ({ statusName, detail }) => WORDS[statusName]
    ?? (statusName === 'SERVER_REFUSED' || statusName === 'ROUND_CLOSED' ? `The server does not take it: ${detail}.`
        : `The device refused: ${detail || statusName}.`);

/* A promise whose refusals are told in words. */
function inWords(promise) {
    return promise.catch((error) => {
        throw error.statusName ? new Refused(wordsOf(error)) : error;
    });
}

/** Check a published study against the id in the address, and the server's key against the one
 * that this browser has pinned. */
export function receive(published, wanted) {
    const pinned = localStorage.getItem(PINNED);
    return inWords(Study.receive(published, { url: `/v1/studies/${wanted}`, ...(pinned === null ? { trustNew: true } : { serverKey: pinned }) }));
}

/* ---------------------------------------------------------------- the device */

export class BrowserDevice {
    constructor(study) {
        this.study = study;
        this.store = new IndexedDbStore(STORE);
        this.device = new Device(this.store, { policy: POLICY, studies: STUDIES });
    }

    /** What this browser lacks to be a device, in words, or null. */
    static missing() {
        if (!globalThis.isSecureContext) return 'This page came over plain HTTP. Contributing needs HTTPS.';
        if (!IndexedDbStore.isPossible() || !globalThis.WebAssembly) return 'This browser is too old to contribute.';
        return null;
    }

    round() {
        return inWords(this.study.round());
    }

    /** One report's charge, and why the study's in all is refused (or null). */
    async cost() {
        const { charge } = await this.device.cost(this.study);
        return { charge, refusal: refusal(charge * releases(this.study.terms), this.study.isBallot) };
    }

    /** Does the promise in the server's words follow from the study's integers? */
    async promises(guarantee) {
        const { charge } = await this.device.cost(this.study, this.study.terms.mechanism.distance ?? 0);
        const times = releases(this.study.terms);
        const unit = 2 ** -24;
        if (this.study.isBallot) return charge * times * unit <= guarantee.epsilon + times * unit;
        /* The core rounds every release's charge up to a unit. */
        return Math.abs(charge * times * unit - guarantee.mu ** 2) <= times * unit + 1e-6 * guarantee.mu ** 2;
    }

    /** What is left of the budget; the whole of it before the first time. */
    async left() {
        const left = (await inWords(this.device.budget()))?.left ?? POLICY;
        return this.study.isBallot ? left.epsilon : left.budget;
    }

    /** The bytes of this round's report if there is one, or null. */
    stored(round) {
        return inWords(this.device.stored(this.study, round));
    }

    /** Make this round's report of values in the order of the form, or find it, and have it
     * durable; nothing is sent. */
    async make(round, values) {
        await inWords(this.#enrolOnce());
        return inWords(this.device.report(this.study, round, this.#named(values)));
    }

    /** Send until the server answers: the receipt. */
    send(bytes, onRetry) {
        return inWords(upload(this.study, bytes, { patienceMs: Infinity, onRetry }));
    }

    /** Has the server said that it has these very bytes? */
    wasAnswered(round, bytes) {
        return this.store.exclusively(async (session) => {
            const answer = await session.answer(this.study.name);
            return answer?.round === round.number && answer.bytes.length === bytes.length
                && answer.bytes.every((byte, i) => byte === bytes[i]);
        });
    }

    noteAnswer(round, bytes) {
        return this.store.exclusively((session) => session.noteAnswer(this.study.name, { round: round.number, bytes }));
    }

    /** The integers in a report. */
    read(bytes) {
        return this.device.decode(this.study, bytes);
    }

    /** A report of these values in the order of the form, or of a person in the middle of all bounds, from a
     * ledger that is thrown away. */
    async example(vectors, given = null) {
        const { features, response } = this.study.terms;
        if (given !== null) return this.device.example(this.study, vectors, this.#named(given));
        const middle = (at) => (at.low + at.high) / 2;
        const values = features.map((feature) => (
            feature.kind === 'category' ? feature.levels[0] : feature.kind === 'yes-no' ? 'no' : middle(feature)));
        return this.device.example(this.study, vectors, this.#named([...values, middle(response)]));
    }

    /* A form gives text, the study's numbers are numbers. */
    #named(values) {
        const { features, response } = this.study.terms;
        return Object.fromEntries([...features, { ...response, kind: 'numeric' }].map(({ name, kind }, i) => (
            [name, kind === 'numeric' && values[i] !== '' ? Number(values[i]) : values[i]])));
    }

    /* The first contribution enrols, and pins the key; another tab may have been faster. */
    async #enrolOnce() {
        if (await this.device.budget() !== null) return;
        await this.device.enrol().catch((error) => {
            if (error.statusName !== 'LEDGER_EXISTS') throw error;
        });
        localStorage.setItem(PINNED, this.study.key);
    }
}
