/* study_terms.js -- what a published study says, in the shapes the page needs.
 *
 * Coordinates are those of the device (ports/wasm/study.mjs). */

import { coordinates, isBallot, releases } from 'tremolo-device';

export { coordinates, isBallot, releases };

export function responseRange(study) {
    return study.response.high - study.response.low;
}

/** How far apart any two people can be, in half ranges: the clip's diameter. */
export function widest(study) {
    return 2 * study.privacy.clip;
}

/** How often a device is asked, in words. */
export function timesAsked(study) {
    const rounds = study.protocol.rounds ?? 1;
    const samples = study.limits.samples ?? 1;
    const times = samples > 1 ? `up to ${samples} times` : 'once';
    return rounds > 1 ? `${times} in each of up to ${rounds} rounds` : times;
}

/** Does the clip shorten samples? By default it is as wide as the whole box. */
export function clips(study) {
    const protectedCoordinates = coordinates(study).length + (study.privacy.protects === 'all' ? 1 : 0);
    return !isBallot(study) && study.privacy.clip < Math.sqrt(protectedCoordinates);
}

/** The distance that the guarantee is stated for; for "any", the widest. */
export function promisedDistance(study) {
    const { neighbours } = study.privacy;
    return neighbours === 'any' ? widest(study) : neighbours.distance;
}

/** mu between two people so far apart, over all releases of a device: the device's own bound on
 * its integers (tremolo_study_sensitivity), which holds whatever distance the study names. */
export function muAt(study, distance) {
    if (distance === 0) return 0;
    const { keep, unit, clip, noise_log2: noise } = study.mechanism;
    const kept = (length) => Math.floor(length * keep / 2 ** 15) + 1;
    const protectedCoordinates = coordinates(study).length + (study.privacy.protects === 'all' ? 1 : 0);
    const near = kept(Math.ceil(distance * unit)) + 3 * Math.ceil(Math.sqrt(protectedCoordinates)) + 4;
    return Math.min(near, kept(2 * clip)) / 2 ** noise * Math.sqrt(releases(study));
}

export const isIterative = (study) => study.protocol.kind === 'iterative';
