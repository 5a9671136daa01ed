/* parts.mjs -- the page's parts that need no browser: words for numbers, and
 * the shapes of a study. */
import assert from 'node:assert/strict';
import { test } from './tap.mjs';
import { cost, count, counted, date, exact, left, listed, number, pValue, rate, stateWord } from '../../src/web/format.js';
import { differenceCells } from '../../src/web/differences.js';
import { refusal } from '../../src/web/policy.js';
import { datesSentence } from '../../src/web/terms.js';
import { clips, coordinates, promisedDistance, releases, responseRange, timesAsked, widest } from '../../src/web/study_terms.js';

await test('numbers as people read them', () => {
    assert.deepEqual([0, 1.5, -3.14159, 20000, 1234.5, 1e-5, -2.5e9, 0.00012345].map((value) => number(value)),
        ['0', '1.5', '−3.142', '20,000', '1235', '1e−5', '−2.5e9', '0.0001235']);
    assert.deepEqual([null, undefined, NaN, Infinity].map((value) => number(value)), ['–', '–', '–', '–']);
    assert.deepEqual([12345678, -32767].map(count), ['12,345,678', '−32,767']);
    assert.deepEqual([12345, 0.1, -1.23456789].map(exact), ['12,345', '0.1', '−1.23456789']);
    assert.deepEqual([counted(1, 'device'), counted(2, 'device')], ['1 device', '2 devices']);
});
await test('a cost is never understated, what is left never overstated', () => {
    assert.deepEqual([2, 2.00039, 2 + 1e-13, 1.00005, 0.00012345, 0, null].map((value) => cost(value)),
        ['2', '2.001', '2', '1.001', '0.0001235', '0', '–']);
    assert.deepEqual([2, 1.99999, 1e-9].map((value) => left(value)), ['2', '1.999', '1e−9']);
    assert.equal(cost(2.00039, 3), '2.01');
    const [, mu, epsilon, right] = differenceCells({ name: 'a', words: '', distance: 1, mu: 0.50011, epsilon: 2.00039, attacker_right: 0.79123 });
    assert.deepEqual([mu, epsilon, right], ['0.5002', '2.001', '79.2%']);
    assert.match(refusal(Math.ceil(2.00039 * 2 ** 24), true), /costs epsilon 2\.01 between/);
});
await test('small probabilities are bounds', () => {
    assert.deepEqual([0.04432, 0.00009, null].map(pValue), ['0.0443', '< 0.0001', '–']);
});
await test('a rate has the unit that makes it readable', () => {
    assert.deepEqual([1890.4, 0.25, 0.001, 0, null].map((value) => Object.values(rate(value)).join(' ')),
        ['1890 a second', '15 a minute', '3.6 an hour', '0 a second', '– a second']);
});
await test('states and dates', () => {
    assert.deepEqual(['open', 'waiting', 'done'].map(stateWord), ['open', 'waiting', 'closed']);
    const [past, future] = ['2020-01-02T00:00:00Z', '2999-01-02T00:00:00Z'];
    assert.doesNotMatch(date(past), /T00/);
    assert.equal(datesSentence({}, 'open'), '');
    assert.equal(datesSentence({ opens: past, closes: future }, 'open'), `It opened on ${date(past)}. It closes on ${date(future)}.`);
    assert.equal(datesSentence({ closes: past }, 'done'), `It closed on ${date(past)}.`);
    assert.match(datesSentence({ closes: future }, 'done'), /^It is closed already/);
});
await test('the guarantee at other distances, as cells', () => {
    assert.deepEqual(differenceCells({ name: 'a distance 2 away', distance: 0.5, mu: 0.1234, epsilon: 1.5, attacker_right: 0.543 }),
        ['a distance 2 away', '0.1234', '1.5', '54.3%']);
    assert.deepEqual(differenceCells({ name: 'any two', words: 'all at once: age 60 years', distance: null, mu: null, epsilon: 2, attacker_right: 0.792 }),
        ['any two, all at once: age 60 years', '–', '2', '79.2%']);
    assert.deepEqual(differenceCells({ name: 'any two', distance: 4, mu: null, epsilon: null, attacker_right: 1 }),
        ['any two', '–', '–', 'always: no protection']);
});
await test('how often a device is asked', () => {
    const asked = (rounds, samples) => timesAsked({ protocol: rounds > 1 ? { rounds } : {}, limits: { samples } });
    assert.deepEqual([asked(1, 1), asked(1, 3), asked(5, 1), asked(5, 3)],
        ['once', 'up to 3 times', 'once in each of up to 5 rounds', 'up to 3 times in each of up to 5 rounds']);
});
await test('a clip counts when it is within the box', () => {
    const features = [{ kind: 'numeric' }, { kind: 'yes-no' }];
    const study = (clip, protects) => ({ features, privacy: { clip, protects } });
    assert.deepEqual([study(1, 'features'), study(Math.sqrt(2), 'features'), study(Math.sqrt(2), 'all'), study(Math.sqrt(3), 'all')].map(clips),
        [true, false, true, false]);
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
