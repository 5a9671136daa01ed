/* parts.mjs -- the page's parts that need no browser: words for numbers, and
 * the shapes of a study. */
import assert from 'node:assert/strict';
import { test } from './tap.mjs';
import { count, counted, listed, number, pValue, rate } from '../../web/format.js';
import { coordinates, promisedDistance, releases, responseRange, widest } from '../../web/study_terms.js';

await test('numbers as people read them', () => {
    assert.deepEqual([0, 1.5, -3.14159, 20000, 1234.5, 1e-5, -2.5e9, 0.00012345].map((value) => number(value)),
        ['0', '1.5', '−3.142', '20,000', '1235', '1e−5', '−2.5e9', '0.0001235']);
    assert.deepEqual([null, undefined, NaN, Infinity].map((value) => number(value)), ['–', '–', '–', '–']);
    assert.equal(count(12345678), '12,345,678');
    assert.deepEqual([counted(1, 'device'), counted(2, 'device')], ['1 device', '2 devices']);
});
await test('small probabilities are bounds', () => {
    assert.deepEqual([0.04432, 0.00009, null].map(pValue), ['0.0443', '< 0.0001', '–']);
});
await test('a rate has the unit that makes it readable', () => {
    assert.deepEqual([1890.4, 0.25, 0.001, 0].map((value) => Object.values(rate(value)).join(' ')),
        ['1890 a second', '15 a minute', '3.6 an hour', '0 a second']);
});
await test('lists', () => {
    assert.deepEqual([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(listed), ['', 'a', 'a and b', 'a, b and c']);
});

const study = {
    features: [{ name: 'age', unit: 'years', kind: 'numeric', low: 18, high: 88 }, { name: 'smoker', unit: '', kind: 'yes-no' },
        { name: 'watch', unit: '', kind: 'category', levels: ['wrist', 'ring', 'phone'] }],
    response: { name: 'pulse', low: 35, high: 95 },
    privacy: { neighbours: { distance: 0.25 }, clip: 2 },
    protocol: { kind: 'iterative', rounds: 5 },
    limits: { samples: 2 },
};
await test('coordinates are those of the protocol', () => {
    assert.deepEqual(coordinates(study).map(({ name, range }) => [name, range]),
        [['age', 70], ['smoker', 1], ['watch=ring', 1], ['watch=phone', 1]]);
    assert.equal(responseRange(study), 60);
});
await test('distances and releases', () => {
    assert.deepEqual([promisedDistance(study), widest(study), releases(study)], [0.25, 4, 10]);
    assert.equal(promisedDistance({ ...study, privacy: { neighbours: 'any', clip: 2 } }), 4);
});
