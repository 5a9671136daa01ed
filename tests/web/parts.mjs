/* parts.mjs -- the page's parts that need no browser: words for numbers, and
 * the shapes of a study. */
import assert from 'node:assert/strict';
import { test } from './tap.mjs';
import { cost, count, decimalsOf, roundedTo, shortCount, counted, date, exact, left, listed, number, pValue, rate, stateWord } from '../../src/web/common/format.js';
import { certainAmount, certainWords, explainedSentence } from '../../src/web/study/answers.js';
import { limitsSentence } from '../../src/web/study/budget.js';
import { toldSince, visibleAt } from '../../src/web/study/projection.js';
import { differenceCells } from '../../src/web/study/differences.js';
import { protection, protectionCaution, protectionSentence } from '../../src/web/study/gauge.js';
import { about, cutSentence, effectSentence, gradientSentence, learnt, neededWords, referenceSentence, roundSizeSentence, sentenceText, weightsSentence } from '../../src/web/study/learnt.js';
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
const hidden = { name: 'watch=ring', unit: '', range: 1, from: 'wrist', to: 'ring', identified: false, estimate: null, standard_error: null, low: null, high: null, p: null };
const intercept = { name: '(intercept)', range: null, identified: true, estimate: 1, standard_error: 1, low: 0, high: 2, p: 0.5 };
const response = { name: 'pulse', unit: 'beats a minute', range: 60 };
await test('an effect is a sentence of its numbers', () => {
    const said = (row, of = response) => sentenceText(effectSentence(row, of));
    assert.equal(said(steps), 'More steps go with a lower pulse: −1.0 beats a minute per 1,000 steps, between −1.2 and −0.8');
    assert.equal(said({ ...sleep, estimate: 1.25, low: 0.4, high: 2.1 }), 'Higher sleep goes with a higher pulse: 1.3 beats a minute per hour, between 0.4 and 2.1');
    assert.equal(said({ ...hidden, estimate: 2, standard_error: 0.5, low: 1, high: 3 }), 'watch=ring goes with a higher pulse than wrist: 2.0 beats a minute, between 1.0 and 3.0');
    assert.equal(said({ ...hidden, name: 'smoker', from: 'no', to: 'yes', estimate: -2, standard_error: 0.5, low: -3, high: -1 }, { name: 'points', unit: '' }),
        '“Yes” to smoker goes with lower points: −2.0, between −3.0 and −1.0');
    /* An end that would look like zero keeps the digit that tells it from zero. */
    assert.match(said({ ...sleep, estimate: 0.8, low: 0.03, high: 1.6 }), /: 0\.80 beats a minute per hour, between 0\.03 and 1\.60$/);
    /* Units are names, too: each may be written in a direction of its own. */
    assert.deepEqual(effectSentence(steps, response).filter((part) => typeof part !== 'string').map((part) => part.name), ['steps', 'pulse', 'beats a minute', 'steps']);
});
await test('what was learnt, or how many devices are lacking', () => {
    const document = { coefficients: [sleep, steps, hidden, intercept], response, devices: 40, devices_needed: 287654, state: 'open', remark: null };
    const known = learnt(document);
    assert.deepEqual([known.told.map((row) => row.name), known.of, known.share, known.others.length], [['steps'], 3, null, 0]);
    const none = learnt({ ...document, coefficients: [sleep, hidden, intercept] });
    assert.equal(sentenceText(none.sentence), 'Nothing yet: 40 of about 290,000 devices, which unrelated features with effects of a usual size need');
    assert.ok(Math.abs(none.share - 40 / 287654) < 1e-12);
    const said = (changes) => sentenceText(learnt({ ...document, coefficients: [], ...changes }).sentence);
    assert.match(said({ state: 'done' }), /^Nothing was learnt: 40 of about/);
    assert.match(said({ r2: 0.3 }), /^No single effect yet: 40 of about/);
    assert.match(said({ devices_needed: null }), /no number of devices that could be had/);
    /* More devices than needed: a short headline, the reason apart, and no full bar, which would look like success. */
    const beyond = learnt({ ...document, coefficients: [], devices: 300000 });
    assert.deepEqual([sentenceText(beyond.sentence), beyond.share], ['Nothing yet, after 300,000 devices', null]);
    assert.match(beyond.why, /^About 290,000 are usually enough: effects are smaller/);
    assert.deepEqual([known.why, none.why], ['', '']);
    const needed = (devices, isTold = false, state = 'open') => neededWords({ devices, needed: 5650, isTold, state });
    assert.deepEqual([needed(40), needed(20000), needed(5660), needed(20000, true), needed(20000, false, 'done'), neededWords({ devices: 1, needed: null })],
        [' of about 5,700', ' more than the usual 5,700, still nothing', ' about the usual 5,700, still nothing', ' about 5,700 needed', ' more than the usual 5,700, and nothing', '']);
    assert.deepEqual([64, 1234, 287654, 1e6].map(about), ['64', '1,300', '290,000', '1,000,000']);
});
await test('what cutting responses does is said beside the coefficients of ballots', () => {
    const said = (release, identified) => cutSentence({ release, coefficients: [{ identified }] });
    assert.match(said('ballot', true), /draws coefficients to zero by about the share that is cut; reports do not tell it\.$/);
    assert.deepEqual([said('sample', true), said('ballot', false)], ['', '']);
});
await test('what the levels of a category are compared with is said', () => {
    const columns = [{ name: 'age', kind: 'numeric' }, { name: 'region', kind: 'category', levels: ['east', 'north'] }];
    const said = (...names) => referenceSentence({ inputs: { columns }, coefficients: names.map((name) => ({ name })) });
    assert.equal(said('age', 'region=north'), 'A level is compared with its reference: region=east.');
    assert.equal(said('age:region=north'), 'A level is compared with its reference: region=east.');
    assert.deepEqual([said('age'), said('subregion=north'), said('region=east', 'region=north')], ['', '', '']);
    assert.equal(referenceSentence({ inputs: null, coefficients: [] }), '');
});
await test('whose the R² of ballots is is said where there is one', () => {
    assert.match(weightsSentence({ release: 'ballot', r2: 0.4 }), /^Ballots weigh people by how typical they are: /);
    assert.deepEqual([weightsSentence({ release: 'ballot', r2: null }), weightsSentence({ release: 'sample', r2: 0.4 })], ['', '']);
});
await test('how many effects are certain does not read as a probability', () => {
    assert.deepEqual([certainWords(0, 1, '95'), certainWords(0, 3, '95'), certainWords(1, 2, '95'), certainWords(2, 50, '95'), certainWords(3, 3, '95')], [
        'It may still be zero, at a confidence of 95%.', 'Each of them may still be zero, at a confidence of 95%.',
        'Its 95% interval leaves zero out. The other one may be zero.',
        'Their 95% intervals leave zero out. The other 48 may be zero.',
        'Their 95% intervals leave zero out.']);
    assert.deepEqual([certainAmount(0, 1), certainAmount(3, 3)], ['0 of 1 effect told from zero', '3 of 3 effects told from zero']);
});
await test('R² has an interval, and is absent while noise hides every effect', () => {
    const document = { r2: 0.42, r2_low: 0.31, r2_high: 0.55, response, coefficients: [sleep, intercept] };
    const explained = (told, changes = {}) => sentenceText(explainedSentence({ ...document, ...changes }, told));
    assert.equal(explained(2), 'Together they explain 42% of what pulse varies by (R², between 31% and 55%).');
    assert.match(explained(0), /^Though no single effect is certain, together they explain 42% of/);
    assert.equal(explained(2, { r2_low: null }), '');
    assert.equal(explained(0, { coefficients: [hidden, intercept] }), '');
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
await test('studies of one title are told apart by the beginning of their ids', () => {
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
    assert.equal(protectionCaution(any), '');
    const near = { epsilon: 1, attacker_right: 0.6, neighbours: 'distance=0.25', any_two: { epsilon: null, attacker_right: 1 }, strength: 'past' };
    assert.deepEqual(protection(near), { lines: [{ who: 'people alike', band: 0, name: 'strong' }, { who: 'any two', band: 3, name: 'hardly any' }], right: 0.6, isPast: true });
    assert.match(protectionCaution(near), /those that report were set to allow more\.$/);
    assert.match(protectionSentence(near), /at most 60% of the time, between any two always; a coin is right 50%\.$/);
    assert.match(protectionSentence({ ...near, any_two: null }), /between any two always/);
    /* What rounds up to 100% is less, as long as there is an epsilon. */
    assert.match(protectionSentence({ ...near, any_two: { epsilon: 30, attacker_right: 1 } }), /between any two above 99\.9% of the time;/);
    assert.match(protectionSentence({ ...any, attacker_right: 1 }), /is right above 99\.9% of the time;/);
    assert.equal(differenceCells({ name: 'any two', distance: 4, mu: 12, epsilon: 90, attacker_right: 1 })[3], '>99.9%');
    assert.match(protectionSentence({ ...any, protects: 'features' }), /The response is sent as it is\.$/);
    assert.doesNotMatch(protectionSentence({ ...any, protects: 'all' }), /as it is/);
    assert.deepEqual(protection({ ...any, attacker_right: 0.85, strength: 'hardly' }), { lines: [{ who: null, band: 3, name: 'hardly any' }], right: 0.85, isPast: true });
    assert.match(protectionCaution({ ...any, strength: 'hardly' }), /protects hardly anything/);
    assert.deepEqual(protection(null), { lines: [], right: null, isPast: true });
});
