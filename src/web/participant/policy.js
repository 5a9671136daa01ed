/* policy.js -- what the browser device allows, whatever a study asks: the default policy, and its
 * refusal in words. */
import { Policy } from 'tremolo-device';
import { cost } from '../common/format.js';

export const POLICY = new Policy();

/** Null, or the sentence that refuses a study whose releases cost this in all. */
export function refusal(charge, ballot = false) {
    if (POLICY.allows(charge, ballot)) return null;
    const epsilon = POLICY.epsilonOfCharge(charge, ballot);
    const shown = epsilon > 1e6 ? 'more than a million' : cost(epsilon, 3);
    return `You cannot take part here: this study would protect you too little. It costs epsilon ${shown} between any two people `
        + `at delta ${cost(ballot ? 0 : POLICY.delta)}, and this page allows ${POLICY.epsilonPerStudy} for a study. Nothing is asked.`;
}
