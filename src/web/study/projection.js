/* projection.js -- when a coefficient can be told from zero: since when, or how many devices it takes. */
const DEVICES_MAX = 1e12;

const excludes = (point) => point.middle !== null && (point.low > 0 || point.high < 0);

/** How many devices it takes until the interval excludes zero, if the coefficient stays; null: no such number. */
export function visibleAt({ devices, middle, low, high }) {
    if (middle === null || middle === 0) return null;
    const needed = devices * (((high - low) / 2) / Math.abs(middle)) ** 2;
    return needed < DEVICES_MAX ? Math.max(devices, needed) : null;
}

/** Since which point zero has been excluded without a break. */
export function toldSince(points) {
    let since = points.length;
    while (since > 0 && excludes(points[since - 1])) since--;
    return points[since]?.devices ?? null;
}
