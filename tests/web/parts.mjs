/* parts.mjs -- the page's parts that need no browser: words for numbers, and
 * the shapes of a study. */
import assert from 'node:assert/strict';
import { test } from './tap.mjs';
import { cost, count, decimalsOf, roundedTo, shortCount, counted, date, exact, left, listed, number, pValue, rate, stateWord } from '../../src/web/common/format.js';
import { limitsSentence } from '../../src/web/study/budget.js';
import { toldSince, visibleAt } from '../../src/web/study/projection.js';
import { differenceCells } from '../../src/web/study/differences.js';
import { protection } from '../../src/web/study/gauge.js';
import { about, gradientSentence, neededWords, roundSizeSentence, sentenceText } from '../../src/web/study/learnt.js';
import { named } from '../../src/web/study/studies.js';
import { refusal } from '../../src/web/participant/policy.js';
import { datesSentence } from '../../src/web/study/terms.js';
import { clips, coordinates, promisedDistance, releases, responseRange, timesAsked, widest } from '../../src/web/common/study_terms.js';

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
    assert.match(refusal(Math.ceil(2.00039 * 2 ** 24), true), /^You cannot take part here: this study would protect you too little\. It costs epsilon 2\.01 between/);
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

await test('numbers end at their error’s second digit', () => {
    assert.deepEqual([[-0.5376, 0.2032], [51.1234, 2.4], [0.000123, 0.0000456], [12345, 678], [12345.6, 99.5], [-0.0004, 0.2], [70.15, 4.849]]
        .map(([value, error]) => roundedTo(value, error)), ['−0.54', '51.1', '0.000123', '12,350', '12,346', '0.00', '70.2']);
    assert.deepEqual([roundedTo(null, 1), roundedTo(1e-12, 1e-13)], ['–', '1e−12']);
    assert.deepEqual([0.2, 10, 9.96, 100, 0].map(decimalsOf), [2, 0, 1, -1, 4]);
    assert.deepEqual([12, 3000, 250000, 1e6, 4e9].map(shortCount), ['12', '3k', '250k', '1M', '4G']);
});
const steps = { name: 'steps', unit: 'steps', range: 20000, from: null, to: null, identified: true, estimate: -0.00102, standard_error: 0.0001, low: -0.0012, high: -0.0008, p: 0 };
const sleep = { name: 'sleep', unit: 'hours', range: 8, from: null, to: null, identified: true, estimate: 0.3, standard_error: 0.4, low: -0.5, high: 1.1, p: 0.4 };
const intercept = { name: '(intercept)', range: null, identified: true, estimate: 1, standard_error: 1, low: 0, high: 2, p: 0.5 };
await test('a sentence has proper minus signs, but not in names', () => {
    assert.equal(sentenceText(['Higher ', { name: 'x-1' }, ': -0.54, between -1 and a-b']), 'Higher x-1: −0.54, between −1 and a-b');
});
await test('how many devices are there of those needed', () => {
    const needed = (devices, isTold = false, state = 'open') => neededWords({ devices, needed: 5650, isTold, state });
    assert.deepEqual([needed(40), needed(20000), needed(5660), needed(20000, true), needed(20000, false, 'done'), neededWords({ devices: 1, needed: null })],
        [' of about 5,700', ' more than the usual 5,700, still nothing', ' about the usual 5,700, still nothing', ' about 5,700 needed', ' more than the usual 5,700, and nothing', '']);
    assert.deepEqual([64, 1234, 287654, 1e6].map(about), ['64', '1,300', '290,000', '1,000,000']);
});
await test('both limits of a device, and both numbers of a round, stand side by side', () => {
    const policy = { epsilonPerStudy: 2, epsilonTotal: 8 };
    assert.equal(limitsSentence(25, policy, false),
        'Between any two people taking part costs 25% of the ε 8 that a device allows by default for all studies together. That is within the ε 2 that it allows for one study.');
    assert.equal(limitsSentence(101, policy, true),
        'Between any two people taking part costs more than the ε 8 that a device allows by default for all studies together. For one study it allows ε 2 and refuses this one; a device that reports was set to allow more.');
    const size = (reports, needed, rows = [sleep, intercept]) => roundSizeSentence({ protocol: { close: { reports } } }, { devices_needed: needed, coefficients: rows });
    assert.equal(size(2000, 240000), 'A round closes at 2,000 reports, and effects of a usual size show from about 240,000 devices in one round: only much larger ones can show here.');
    assert.deepEqual([size(2000, 1500), size(2000, null), size(2000, 240000, [steps, intercept]), roundSizeSentence({ protocol: {} }, { devices_needed: 5, coefficients: [] })], ['', '', '', '']);
});
await test('whether rounds came closer is said', () => {
    const said = (...norms) => gradientSentence(norms.map((gradient_norm, round) => ({ round, gradient_norm })));
    assert.equal(said(0.5, 0.7, 0.2), 'From round 1 to round 3 it fell from 0.5 to 0.2: it came closer.');
    assert.equal(said(0.5, 0.7, null), 'From round 1 to round 2 it rose from 0.5 to 0.7: it moved away, noise won.');
    assert.deepEqual([said(0.5, 0.5), said(0.5, null), said()], ['From round 1 to round 2 it stayed at 0.5.', '', '']);
});
await test('studies of one title differ by the beginning of their ids', () => {
    const rows = named([{ id: 'abcdefghijk', title: 'Pulse' }, { id: 'ABCDEFGHIJK', title: 'pulse ' }, { id: 'other-------', title: 'Sleep' }]);
    assert.deepEqual(rows.map(({ id, shortId }) => [id, shortId]), [['abcdefghijk', 'abcdefgh'], ['ABCDEFGHIJK', 'ABCDEFGH'], ['other-------', '']]);
});
await test('a projection, and since when zero is excluded', () => {
    const point = (devices, middle, half) => ({ devices, middle, low: middle - half, high: middle + half });
    assert.equal(visibleAt(point(100, 1, 2)), 400);
    assert.equal(visibleAt({ devices: 100, middle: null, low: null, high: null }), null);
    assert.equal(visibleAt(point(100, 1e-9, 2)), null);
    assert.equal(toldSince([point(10, 1, 0.5), point(20, 1, 2), point(40, 1, 0.9), point(80, 1, 0.6)]), 40);
});
await test('protection has a name, and a promise for the alike alone is not called by it', () => {
    const any = { epsilon: 2, attacker_right: 0.792, neighbours: 'any', any_two: { epsilon: 2, attacker_right: 0.792 }, strength: 'policy' };
    assert.deepEqual(protection(any), { lines: [{ who: null, band: 1, name: 'fair' }], right: 0.792, isPast: false });
    const near = { epsilon: 1, attacker_right: 0.6, neighbours: 'distance=0.25', any_two: { epsilon: null, attacker_right: 1 }, strength: 'past' };
    assert.deepEqual(protection(near), { lines: [{ who: 'people alike', band: 0, name: 'strong' }, { who: 'any two', band: 3, name: 'hardly any' }], right: 0.6, isPast: true });
    assert.equal(differenceCells({ name: 'any two', distance: 4, mu: 12, epsilon: 90, attacker_right: 1 })[3], '>99.9%');
    assert.deepEqual(protection({ ...any, attacker_right: 0.85, strength: 'hardly' }), { lines: [{ who: null, band: 3, name: 'hardly any' }], right: 0.85, isPast: true });
    assert.deepEqual(protection(null), { lines: [], right: null, isPast: true });
});
