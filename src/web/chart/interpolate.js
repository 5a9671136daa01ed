/* interpolate.js -- between two numbers: all that scales of charts need of d3-interpolate, which would bring colours and
 * strings along, a tenth of what a visit takes. tools/build-web puts it in that module's place. */
export const interpolateNumber = (from, to) => (part) => from * (1 - part) + to * part;
export const interpolateRound = (from, to) => (part) => Math.round(from * (1 - part) + to * part);
export const interpolate = interpolateNumber;
