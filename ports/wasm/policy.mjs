/* policy.mjs -- what a device allows, whatever a study asks.
 *
 * The defaults are those of tremolo_policy.h: epsilon 2 a study and 8 in all, at delta 1e-5,
 * between any two people. The total becomes the ledger's two budgets when the device is enrolled
 * and cannot be changed afterwards: mu^2 for noisy samples, the largest that keeps within the
 * total at delta, and pure epsilon for ballots, both in units of 2^-24. The total is over both. */
import { deltaAt, epsilonAt } from "./gaussian.mjs";

const CHARGE_ONE = 2 ** 24;
const ROUNDING = 1 + 1e-6; /* a charge is rounded up to its unit */

/** @typedef {{ epsilonPerStudy?: number, epsilonTotal?: number, delta?: number }} PolicyNumbers */

export class Policy {
    #budget = -1;

    /** @param {PolicyNumbers} numbers */
    constructor({ epsilonPerStudy = 2, epsilonTotal = 8, delta = 1e-5 } = {}) {
        if (!(epsilonPerStudy > 0 && epsilonTotal > 0 && epsilonTotal <= 100 && delta > 0 && delta <= 0.1)) {
            throw new RangeError("tremolo: a policy has epsilons above 0, the total up to 100, and a delta above 0 up to 0.1");
        }
        this.epsilonPerStudy = epsilonPerStudy;
        this.epsilonTotal = epsilonTotal;
        this.delta = delta;
    }

    /** The ledger's budget of mu^2, rounded down. */
    get budget() {
        if (this.#budget < 0) {
            let low = 0;
            let high = 2 ** 32;
            while (high - low > 1) {
                const between = Math.floor((low + high) / 2);
                /* Delta falls as epsilon grows: asking for it at the total saves a search for every epsilon. */
                if (deltaAt(Math.sqrt(between / CHARGE_ONE), this.epsilonTotal) <= this.delta) low = between;
                else high = between;
            }
            this.#budget = low;
        }
        return this.#budget;
    }

    /** The ledger's budget of pure epsilon. */
    get epsilon() {
        return Math.floor(this.epsilonTotal * CHARGE_ONE);
    }

    /** The epsilon of a charge: a ballot's charge is an epsilon, a noisy sample's has one at the policy's delta.
     * @param {number} charge
     * @param {boolean} [ballot] */
    epsilonOfCharge(charge, ballot = false) {
        if (ballot) return charge / CHARGE_ONE;
        return charge > 0 ? epsilonAt(Math.sqrt(charge / CHARGE_ONE), this.delta) : 0;
    }

    /** The epsilon of a sum of mu^2 and a sum of pure epsilons together.
     * @param {number} charge
     * @param {number} pure */
    spent(charge, pure) {
        return this.epsilonOfCharge(charge) + this.epsilonOfCharge(pure, true);
    }

    /** True if these sums are within the total.
     * @param {number} charge
     * @param {number} pure */
    isWithinTotal(charge, pure) {
        return this.spent(charge, pure) <= this.epsilonTotal * ROUNDING;
    }

    /** True if a study with this cost of all its releases is allowed.
     * @param {number} charge
     * @param {boolean} [ballot] */
    allows(charge, ballot = false) {
        return this.epsilonOfCharge(charge, ballot) <= this.epsilonPerStudy * ROUNDING;
    }
}
