/* core_device.mjs -- a device of integers: the core, and a ledger that lasts. What a published
 * study and a policy add is in device.mjs.
 *
 *     const device = new CoreDevice(bytesOfTheModule, new IndexedDbStore("my-app"));
 *     if (await device.left() === null) await device.enrol(1 << 24, 8 << 24);
 *     const bytes = await device.report(study, { number: 0, vectors: [] },
 *                                       { number: 0, features: [7200, 61], response: 48 });
 *
 * Studies, rounds and samples are those of tremolo.mjs. The core writes its slots
 * synchronously and nothing stores durably so; therefore it works on a copy: what it wrote is
 * stored in its order, and only when all of it is does a promise resolve with bytes. That
 * includes what it repairs while it repeats a report.
 *
 * Enrolment is a step of its own, once in a device's life. That it happened is noted in the
 * store apart from the ledger: where the note is and the ledger is not, the ledger was lost,
 * and everything is refused (LEDGER_LOST), because a new one would be a second budget.
 *
 * A store is any object with
 *     exclusively(work)   run the asynchronous work(session) while no other device does, in any
 *                         tab or process that has the same ledger; its promise
 * and a session with asynchronous
 *     slots()             a Map from number to Uint8Array, all that was stored
 *     commit(writes)      store [{slot, bytes}] one after the other, each durable before the
 *                         next; resolved when the last one is
 *     persist()           ask for storage that is not cleared when space runs out, before a ledger
 *                         is made in it; resolved whether that was granted or not
 *     wasEnrolled()       is there the note?
 *     markEnrolled()      make it; one that a power cut takes back is made again with the next
 *                         step that finds the ledger, so it need not be durable at once */
import { Tremolo, TremoloError } from "./tremolo.mjs";

/** @typedef {import("./tremolo.mjs").StudyIntegers} StudyIntegers
 *  @typedef {import("./tremolo.mjs").RoundIntegers} RoundIntegers
 *  @typedef {import("./tremolo.mjs").SampleIntegers} SampleIntegers
 *  @typedef {import("./tremolo.mjs").Cost} Cost
 *  @typedef {{ slot: number, bytes: Uint8Array }} Write
 *  @typedef {Object} StoreSession
 *  @property {() => Promise<Map<number, Uint8Array>>} slots
 *  @property {(writes: Write[]) => Promise<void>} commit
 *  @property {() => Promise<void>} persist
 *  @property {() => Promise<boolean>} wasEnrolled
 *  @property {() => Promise<void>} markEnrolled
 *  @typedef {{ exclusively<T>(work: (session: StoreSession) => Promise<T>): Promise<T> }} Store
 *  @typedef {{ budget: number, epsilon: number }} Left  in 2^-24 */

/* How a core answers that has nothing to repeat and may not make anything. */
const NOTHING_STORED = new Set(["NO_ENTROPY", "LEDGER_MISSING", "BUDGET_EXHAUSTED", "LEDGER_FULL"]);

/* The core on a copy of the ledger. */
class Bench {
    /** @type {Write[]} */
    writes = [];
    mayDraw = false;
    /** @type {Tremolo} */
    core;

    /** @param {BufferSource} source
     *  @param {Map<number, Uint8Array>} slots
     *  @param {{ studies: number, macKey: Uint8Array | null }} options */
    static async open(source, slots, { studies, macKey }) {
        const bench = new Bench();
        bench.core = await Tremolo.load(source, {
            studies,
            macKey,
            entropy: (bytes) => {
                if (!bench.mayDraw) throw new Error("nothing new is to be made");
                globalThis.crypto.getRandomValues(bytes);
            },
            read: (slot) => slots.get(slot) ?? null,
            write: (slot, bytes) => {
                slots.set(slot, bytes);
                bench.writes.push({ slot, bytes });
            },
        });
        return bench;
    }

    /** @returns {Left | null} */
    left() {
        const budget = this.core.budgetOrNull();
        return budget === null ? null : { budget, epsilon: this.core.epsilon() };
    }

    /* A core without entropy can repeat and nothing else: what it gives was
     * made before, whatever sample it is asked with. */
    /** @param {StudyIntegers} study
     *  @param {RoundIntegers} round
     *  @param {number} sample */
    repeat(study, round, sample) {
        const nothing = { number: sample, features: Array(study.dimension).fill(0), response: 0 };
        try {
            return this.core.report(study, round, nothing);
        } catch (error) {
            if (error instanceof TremoloError && NOTHING_STORED.has(error.statusName)) return null;
            throw error;
        }
    }
}

export class CoreDevice {
    #source;
    #store;
    #options;

    /** @param {BufferSource} source  tremolo.wasm
     *  @param {Store} store
     *  @param {{ studies?: number, macKey?: Uint8Array | null }} options  how many studies the
     *      ledger has room for, fixed when it is made; the key that the study's operator gave */
    constructor(source, store, { studies = 16, macKey = null } = {}) {
        this.#source = source;
        this.#store = store;
        this.#options = { studies, macKey };
    }

    /** Make the ledger, with budgets of mu^2 and of epsilon in 2^-24. LEDGER_EXISTS when there is one.
     * @param {number} budget
     * @param {number} epsilon
     * @returns {Promise<void>} */
    enrol(budget, epsilon) {
        return this.#run(async (bench, session) => {
            await session.persist();
            bench.mayDraw = true; /* the secret that is kept with the charges */
            bench.core.enrol(budget, epsilon);
            await this.#settle(bench, session);
            await session.markEnrolled();
        });
    }

    /** What is left; null before the device is enrolled.
     * @returns {Promise<Left | null>} */
    left() {
        return this.#run((bench) => bench.left());
    }

    /** This round's report if it was made before, or null.
     * @param {StudyIntegers} study
     * @param {RoundIntegers} round
     * @param {number} [sample]
     * @returns {Promise<Uint8Array | null>} */
    stored(study, round, sample = 0) {
        return this.#run((bench) => bench.repeat(study, round, sample));
    }

    /** This round's report: the one that was made before, or a new one, which is durable
     *  when the promise resolves. allow(left, cost) may throw before anything new is made.
     * @param {StudyIntegers} study
     * @param {RoundIntegers} round
     * @param {SampleIntegers} sample
     * @param {(left: Left, cost: Cost) => void} [allow]
     * @returns {Promise<Uint8Array>} */
    report(study, round, sample, allow = () => {}) {
        return this.#run((bench) => {
            const found = bench.repeat(study, round, sample.number ?? 0);
            if (found !== null) return found;
            const left = bench.left();
            if (left !== null) allow(left, bench.core.cost(study));
            bench.mayDraw = true;
            return bench.core.report(study, round, sample);
        });
    }

    /** What one report of the study costs; no ledger is touched.
     * @param {StudyIntegers} study */
    async cost(study) {
        return (await this.#scratch()).cost(study);
    }

    /** The integers in a report; no ledger is touched.
     * @param {StudyIntegers} study
     * @param {Uint8Array} bytes */
    async decode(study, bytes) {
        return (await this.#scratch()).decode(study, bytes);
    }

    async #scratch() {
        return (await Bench.open(this.#source, new Map(), this.#options)).core;
    }

    /* Store what the core wrote. */
    /** @param {Bench} bench
     *  @param {StoreSession} session */
    #settle(bench, session) {
        return session.commit(bench.writes.splice(0));
    }

    /** @template T
     *  @param {(bench: Bench, session: StoreSession) => T | Promise<T>} work
     *  @returns {Promise<T>} */
    #run(work) {
        return this.#store.exclusively(async (session) => {
            const bench = await Bench.open(this.#source, await session.slots(), this.#options);
            try {
                await this.#checkEnrolment(bench, session);
                return await work(bench, session);
            } finally {
                await this.#settle(bench, session); /* repairs, too, and before anything leaves */
            }
        });
    }

    /* No report is made before the note is: a cut between ledger and note cost nothing. */
    /** @param {Bench} bench
     *  @param {StoreSession} session */
    async #checkEnrolment(bench, session) {
        const noted = await session.wasEnrolled();
        const found = bench.core.budgetOrNull() !== null;
        if (noted && !found) throw new TremoloError("LEDGER_LOST");
        if (found && !noted) await session.markEnrolled();
    }
}
