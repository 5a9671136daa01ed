/* device.mjs -- a device in JavaScript: values in, the bytes of one private report out.
 *
 *     const study = await Study.fetch("https://studies.example.org/v1/studies/ID", { serverKey });
 *     const device = new Device(new IndexedDbStore("my-app"));
 *     if (await device.budget() === null) await device.enrol();
 *     const bytes = await device.report(study, await study.round(), { age: 44, sleep: 7.2, pulse: 61 });
 *     await upload(study, bytes);
 *
 * core_device.mjs makes the report and keeps the ledger. This adds the policy: what a study may
 * cost, and all studies together, between any two people. A refusal is a TremoloError. */
import { CoreDevice } from "./core_device.mjs";
import { coreBytes } from "./core_bytes.mjs";
import { Policy } from "./policy.mjs";
import { MemoryStore } from "./store_memory.mjs";
import { releases } from "./study.mjs";
import { TremoloError } from "./tremolo.mjs";

/** @typedef {import("./study.mjs").Study} Study
 *  @typedef {import("./study.mjs").Round} Round
 *  @typedef {import("./study.mjs").Values} Values
 *  @typedef {import("./core_device.mjs").Left} Left
 *  @typedef {Object} Budget
 *  @property {number} epsilonTotal  what the policy allows over all studies, at its delta
 *  @property {number} epsilonSpent  what was spent of it
 *  @property {number} delta
 *  @property {Left} left  the ledger's own numbers, in 2^-24: mu^2 and pure epsilon */

/** @param {Round} round */
function openRound(round) {
    if (round.state !== "open") throw new TremoloError("ROUND_CLOSED", "the study takes no reports now");
    return round;
}

export class Device {
    #core;

    /** @param {import("./core_device.mjs").Store} store  where the ledger is kept: one for all studies of a device
     *  @param {{ policy?: Policy, studies?: number, macKey?: Uint8Array | null }} options
     *      studies: how many the ledger has room for, 1 to 16, fixed when the device is enrolled;
     *      macKey: of an enrolled device, 16 bytes */
    constructor(store, { policy = new Policy(), studies = 16, macKey = null } = {}) {
        this.policy = policy;
        this.#core = new CoreDevice(coreBytes(), store, { studies, macKey });
    }

    /** Make the ledger, once in a device's life. LEDGER_EXISTS when there is one; LEDGER_LOST when
     * there was one and it is gone: such a device takes no further part. */
    enrol() {
        return this.#core.enrol(this.policy.budget, this.policy.epsilon);
    }

    /** What was spent and what is left; null before the device is enrolled.
     * @returns {Promise<Budget | null>} */
    async budget() {
        const left = await this.#core.left();
        if (left === null) return null;
        const { epsilonTotal, delta } = this.policy;
        return { epsilonTotal, epsilonSpent: this.policy.spent(...this.#spent(left)), delta, left };
    }

    /** What the study costs: one report's charge in 2^-24, the epsilon of all of its reports
     * together, and whether the policy allows that.
     * @param {Study} study
     * @param {number} [distance]  between people at most so many fine units apart; 0: any two */
    async cost(study, distance = 0) {
        const { charge } = await this.#core.cost({ ...study.integers, distance });
        const all = charge * releases(study.terms);
        return { charge, epsilon: this.policy.epsilonOfCharge(all, study.isBallot), isAllowed: this.policy.allows(all, study.isBallot) };
    }

    /** This round's report if it was made before, or null.
     * @param {Study} study
     * @param {Round} round
     * @param {number} [number]  of the sample, from 0
     * @returns {Promise<Uint8Array | null>} */
    async stored(study, round, number = 0) {
        return this.#core.stored(study.integers, openRound(round), number);
    }

    /** This round's report: the one that was made before, whatever the values, or a new one. It is
     * charged and durable when the promise resolves, and nothing is sent. POLICY_REFUSED,
     * BUDGET_EXHAUSTED, LEDGER_MISSING, ROUND_CLOSED and BAD_SAMPLE cost nothing.
     * @param {Study} study
     * @param {Round} round
     * @param {Values} values
     * @param {number} [number]  of the sample, from 0
     * @returns {Promise<Uint8Array>} */
    async report(study, round, values, number = 0) {
        const open = openRound(round);
        const sample = study.sampleOf(values, number);
        if (!(await this.cost(study)).isAllowed) {
            throw new TremoloError("POLICY_REFUSED", `the study costs more than epsilon ${this.policy.epsilonPerStudy}`);
        }
        return this.#core.report(study.integers, open, sample, (left, { charge }) => this.#checkTotal(study, left, charge));
    }

    /** A report as one would be made, from a ledger that is thrown away: to look at, never to be sent.
     * @param {Study} study
     * @param {number[][]} vectors  the round's
     * @param {Values} values */
    async example(study, vectors, values) {
        const core = new CoreDevice(coreBytes(), new MemoryStore());
        await core.enrol(2 ** 32 - 1, 2 ** 31 - 1);
        return core.report(study.integers, { number: 0, vectors }, study.sampleOf(values));
    }

    /** The integers in a report.
     * @param {Study} study
     * @param {Uint8Array} bytes */
    decode(study, bytes) {
        return this.#core.decode(study.integers, bytes);
    }

    /* Of mu^2 and of pure epsilon. */
    /** @param {Left} left
     *  @returns {[number, number]} */
    #spent(left) {
        return [Math.max(0, this.policy.budget - left.budget),
            Math.max(0, this.policy.epsilon - left.epsilon)];
    }

    /* The core keeps two budgets; the policy's total is over both. */
    /** @param {Study} study
     *  @param {Left} left
     *  @param {number} charge */
    #checkTotal(study, left, charge) {
        const pure = study.isBallot ? charge : 0;
        const [spent, spentPure] = this.#spent(left);
        if (!this.policy.isWithinTotal(spent + charge - pure, spentPure + pure)) {
            throw new TremoloError("BUDGET_EXHAUSTED", "the study costs more than what is left of the device's budget");
        }
    }
}
