/* gaussian.js -- what an attacker can achieve against Gaussian noise, and against ballots.
 *
 * A release that is mu-Gaussian private is, to whoever must tell two people
 * apart, at worst the task of telling N(0,1) from N(mu,1). Everything here
 * follows from that and from the normal distribution (ports/wasm/gaussian.mjs). mu
 * grows in proportion to the distance between the two. */
import { normalBelow } from 'tremolo-device/gaussian';

/** The x with P(N <= x) = p, for 0 < p < 1. */
export function normalQuantile(p) {
    let low = -40;
    let high = 40;
    while (high - low > 1e-14 * Math.max(1, Math.abs(low))) {
        const x = (low + high) / 2;
        if (x === low || x === high) break;
        if (normalBelow(x) < p) low = x;
        else high = x;
    }
    return (low + high) / 2;
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
