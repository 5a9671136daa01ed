/* gaussian.js -- what an attacker can achieve against Gaussian noise, and against ballots.
 *
 * A release that is mu-Gaussian private is, to whoever must tell two people
 * apart, at worst the task of telling N(0,1) from N(mu,1). Everything here
 * follows from that and from the normal distribution, which JavaScript lacks:
 * near the middle by its power series (all terms positive, so nothing cancels),
 * in the tail by the continued fraction of Mills' ratio. mu grows in
 * proportion to the distance between the two. */
const LOG_ROOT_2PI = Math.log(2 * Math.PI) / 2;
const TAIL_FROM = 2.5;
const TAIL_TERMS = 200; /* enough for full precision from TAIL_FROM on */

const logDensity = (x) => -x * x / 2 - LOG_ROOT_2PI;

/* P(0 < N < x) for moderate x: density times x + x^3/3 + x^5/(3*5) + ... */
function middle(x) {
    let term = x;
    let sum = x;
    for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum); k += 2) {
        term *= x * x / k;
        sum += term;
    }
    return sum * Math.exp(logDensity(x));
}

/** The logarithm of P(N > x), good far into the tail. */
export function logTail(x) {
    if (x < TAIL_FROM) return Math.log(x < -TAIL_FROM ? 1 - Math.exp(logTail(-x)) : 0.5 - middle(x));
    let fraction = x;
    for (let k = TAIL_TERMS; k >= 1; k--) fraction = x + k / fraction;
    return logDensity(x) - Math.log(fraction);
}

/** P(N <= x). */
export function normalBelow(x) {
    return Math.exp(logTail(-x));
}

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

/** The delta that goes with an epsilon. */
export function deltaAt(mu, epsilon) {
    if (mu === 0) return 0;
    const far = Math.exp(epsilon + logTail(mu / 2 + epsilon / mu));
    return normalBelow(mu / 2 - epsilon / mu) - far;
}

/** The smallest epsilon at a delta. */
export function epsilonAt(mu, delta) {
    if (deltaAt(mu, 0) <= delta) return 0;
    let low = 0;
    let high = 1;
    while (deltaAt(mu, high) > delta) high *= 2;
    for (let i = 0; i < 80; i++) {
        const middlePoint = (low + high) / 2;
        if (deltaAt(mu, middlePoint) > delta) low = middlePoint;
        else high = middlePoint;
    }
    return high;
}

/** The most an attacker catches of a pure epsilon, who guesses right so often at even odds:
 * neither a likelihood ratio above e^epsilon nor a distance above 2 right - 1. */
export function caughtBallot({ epsilon, attacker_right: right }, falseAlarms) {
    const most = Math.exp(epsilon);
    return Math.min(1, most * falseAlarms, falseAlarms + 2 * right - 1, 1 - (1 - falseAlarms) / most);
}
