/* gaussian.js -- what an attacker can achieve against Gaussian noise, and against ballots.
 *
 * A release that is mu-Gaussian private is, to whoever must tell two people
 * apart, at worst the task of telling N(0,1) from N(mu,1). Everything here
 * follows from that and from the normal distribution (ports/wasm/gaussian.mjs). mu
 * grows in proportion to the distance between the two. */
import { normalBelow } from 'tremolo-device/gaussian';

const ROOT_2PI = Math.sqrt(2 * Math.PI);
const STEPS_MAX = 1000; /* those far out, where no curve looks, need the most */

/** The x with P(N <= x) = p, for 0 < p < 1: Newton's steps from the middle, which never pass it, as the distribution bends
 * one way on either side; a curve of a hundred points needs hundreds of values where halving needs thousands. */
export function normalQuantile(p) {
    let x = 0;
    for (let i = 0; i < STEPS_MAX; i++) {
        const step = (p - normalBelow(x)) * ROOT_2PI * Math.exp(x * x / 2);
        x += step;
        if (Math.abs(step) <= 1e-14 * Math.max(1, Math.abs(x))) break;
    }
    return x;
}

/** The most an attacker catches who accepts this share of false alarms. */
export function caught(mu, falseAlarms) {
    if (falseAlarms <= 0) return 0;
    if (falseAlarms >= 1) return 1;
    return normalBelow(normalQuantile(falseAlarms) + mu);
}

/** How often the best guess between two equally likely people is right. */
export function guessedRight(mu) {
    return normalBelow(mu / 2);
}

/** The most an attacker catches of a pure epsilon, who guesses right so often at even odds:
 * neither a likelihood ratio above e^epsilon nor a distance above 2 right - 1. */
export function caughtBallot({ epsilon, attacker_right: right }, falseAlarms) {
    const most = Math.exp(epsilon);
    return Math.min(1, most * falseAlarms, falseAlarms + 2 * right - 1, 1 - (1 - falseAlarms) / most);
}
