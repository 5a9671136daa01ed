/* format.js -- numbers and times as people read them. Display only: what a
 * test or a program wants to know exactly it asks the server. */
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A count: 12,345. */
export function count(value) {
    return grouped.format(value);
}

/** Four significant digits, without an exponent where that is readable. */
export function number(value, digits = 4) {
    if (value === null || value === undefined || !Number.isFinite(value)) return '–';
    if (value === 0) return '0';
    const size = Math.abs(value);
    const text = size >= 1e7 || size < 1e-4 ? value.toExponential(digits - 1)
        : Number(value.toPrecision(digits)).toString();
    return text.replace('-', '−');
}

/** A share as a percentage with one decimal; never "100%" for less than all. */
export function percent(share) {
    if (share === null || !Number.isFinite(share)) return '–';
    const shown = share < 1 ? Math.min(Math.round(share * 1000) / 10, 99.9) : 100;
    return `${shown}%`;
}

/** A p-value: small ones as a bound. */
export function pValue(p) {
    if (p === null || !Number.isFinite(p)) return '–';
    return p < 0.0001 ? '< 0.0001' : p.toFixed(4);
}

/** Devices a second, in the unit that gives a readable number. */
export function rate(perSecond) {
    if (!(perSecond > 0)) return 'none at the moment';
    if (perSecond >= 1) return `${number(perSecond, 3)} a second`;
    if (perSecond * 60 >= 1) return `${number(perSecond * 60, 3)} a minute`;
    return `${number(perSecond * 3600, 3)} an hour`;
}
