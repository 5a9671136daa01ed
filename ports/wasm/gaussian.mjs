/* gaussian.mjs -- the normal distribution, which JavaScript lacks, and what a mu-Gaussian private
 * release costs as an epsilon.
 *
 * Near the middle by its power series (all terms positive, so nothing cancels), in the tail by the
 * continued fraction of Mills' ratio. */
const LOG_ROOT_2PI = Math.log(2 * Math.PI) / 2;
const TAIL_FROM = 2.5;
const TAIL_TERMS = 200; /* enough for full precision from TAIL_FROM on */

/** @param {number} x */
const logDensity = (x) => -x * x / 2 - LOG_ROOT_2PI;

/* P(0 < N < x) for moderate x: density times x + x^3/3 + x^5/(3*5) + ... */
/** @param {number} x */
function middle(x) {
    let term = x;
    let sum = x;
    for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum); k += 2) {
        term *= x * x / k;
        sum += term;
    }
    return sum * Math.exp(logDensity(x));
}

/** The logarithm of P(N > x), good far into the tail.
 * @param {number} x
 * @returns {number} */
export function logTail(x) {
    if (x < TAIL_FROM) return Math.log(x < -TAIL_FROM ? 1 - Math.exp(logTail(-x)) : 0.5 - middle(x));
    let fraction = x;
    for (let k = TAIL_TERMS; k >= 1; k--) fraction = x + k / fraction;
    return logDensity(x) - Math.log(fraction);
}

/** P(N <= x).
 * @param {number} x */
export function normalBelow(x) {
    return Math.exp(logTail(-x));
}

/** The delta that goes with an epsilon.
 * @param {number} mu
 * @param {number} epsilon */
export function deltaAt(mu, epsilon) {
    if (mu === 0) return 0;
    const far = Math.exp(epsilon + logTail(mu / 2 + epsilon / mu));
    return normalBelow(mu / 2 - epsilon / mu) - far;
}

/** The smallest epsilon at a delta.
 * @param {number} mu
 * @param {number} delta */
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
