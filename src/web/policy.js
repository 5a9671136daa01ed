/* policy.js -- what the browser device allows, whatever a study asks.
 *
 * The defaults of host/tremolo_policy.h: epsilon 2 a study and 8 in all, at
 * delta 1e-5, between any two people. The total is the ledger's budget in units
 * of mu^2 / 2^24, as tremolo_policy_budget() gives it; a test holds the two
 * together. Ballots cost pure epsilon, which the ledger counts beside it; the total
 * is over both. */
import { cost } from './format.js';
import { epsilonAt } from './gaussian.js';

export const POLICY = { epsilonPerStudy: 2, epsilonTotal: 8, delta: 1e-5, budget: 46567813, epsilon: 8 * 2 ** 24 };

const CHARGE_ONE = 2 ** 24;
const ROUNDING = 1 + 1e-6; /* a charge is rounded up to its unit */

/** The epsilon of a charge: a ballot's is one, a noisy sample's has it at the policy's delta. */
export function epsilonOfCharge(charge, ballot = false) {
    if (ballot) return charge / CHARGE_ONE;
    return charge > 0 ? epsilonAt(Math.sqrt(charge / CHARGE_ONE), POLICY.delta) : 0;
}

/** Is so much of mu^2 and of pure epsilon within the total? */
export function withinTotal(charge, pure) {
    return epsilonOfCharge(charge) + epsilonOfCharge(pure, true) <= POLICY.epsilonTotal * ROUNDING;
}

/** Null, or the sentence that refuses a study whose releases cost this in all. */
export function refusal(charge, ballot = false) {
    const epsilon = epsilonOfCharge(charge, ballot);
    if (epsilon <= POLICY.epsilonPerStudy * ROUNDING) return null;
    const shown = epsilon > 1e6 ? 'more than a million' : cost(epsilon, 3);
    return `This study costs epsilon ${shown} between any two people at delta ${cost(ballot ? 0 : POLICY.delta)}, and this page `
        + `allows ${POLICY.epsilonPerStudy} for a study. It would protect you too little, so nothing is asked.`;
}
