/* gaussian.mjs -- the page's normal distribution against the accountant's,
 * which encloses its own errors; agreement within 1e-12 is many times what a
 * page that shows one decimal needs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from './tap.mjs';
import { epsilonAt, normalBelow } from 'tremolo-device/gaussian';
import { caught, caughtBallot, guessedRight, normalQuantile } from '../../src/web/common/gaussian.js';
import { atMost, cost, rightAtMost } from '../../src/web/common/format.js';
import { muAt } from '../../src/web/common/study_terms.js';

const account = (...words) => JSON.parse(execFileSync(process.env.TREMOLO, ['account', ...words, '--json']));
const close = (a, b, tolerance) => assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${a} is not ${b}`);

for (const mu of [0.001, 0.268, 1, 3.715, 8]) {
    await test(`trade-off at mu ${mu}`, () => {
        for (const share of [1e-6, 0.01, 0.05, 0.5, 0.95]) {
            const exact = account('tradeoff', '--mu', String(mu), '--false-positive', String(share));
            close(caught(mu, share), exact.true_positive_rate, 1e-12);
            close(guessedRight(mu), exact.attack_accuracy, 1e-12);
        }
    });
    await test(`epsilon at mu ${mu}`, () => {
        const exact = account('epsilon', '--mu', String(mu), '--delta', '1e-5');
        close(epsilonAt(mu, 1e-5), exact.epsilon, 1e-9);
    });
}
await test('quantiles undo probabilities', () => {
    for (const x of [-9, -2.5, -1, 0, 0.3, 2.5, 5]) close(normalQuantile(normalBelow(x)), x, 1e-9);
});
/* A coarse grid: rounding is a hundredth of what is promised. */
await test('mu at any distance is the device\'s own bound', () => {
    const file = JSON.stringify({ tremolo: 1, title: 'grid', features: [{ name: 'a', low: 0, high: 1 }, { name: 'b', kind: 'yes-no' }],
        response: { name: 'r', low: 0, high: 1 },
        privacy: { epsilon: 1, delta: 1e-5, neighbours: { distance: 0.01 }, protects: 'all' }, protocol: { kind: 'one-shot' } });
    const shown = JSON.parse(execFileSync(process.env.TREMOLO, ['study', 'show', '-', '--json'], { input: file }));
    const rows = shown.guarantee.differences.filter(({ mu }) => mu !== null);
    assert.ok(rows.length >= 4);
    for (const { distance, mu } of rows) assert.equal(cost(muAt(shown.study, distance)), cost(mu));
});
await test('a ballot\'s curve is what the server says', () => {
    const file = execFileSync(process.env.TREMOLO, ['study', 'init']);
    const { guarantee } = JSON.parse(execFileSync(process.env.TREMOLO, ['study', 'show', '-', '--json'], { input: file }));
    assert.equal(guarantee.tradeoff.length, 5);
    for (const { false_alarms: share, caught: most } of guarantee.tradeoff) close(caughtBallot(guarantee, share), most, 1e-12);
    /* At even odds the best point of the curve is the attacker's success. */
    const best = Math.max(...Array.from({ length: 1001 }, (_, i) => (caughtBallot(guarantee, i / 1000) + 1 - i / 1000) / 2));
    close(best, guarantee.attacker_right, 1e-9);
});
await test('bounds are rounded up', () => {
    assert.equal(atMost(0.5533), '55.4%');
    assert.equal(atMost(0.5), '50%');
    assert.equal(atMost(0.999), '99.9%');
    assert.deepEqual([0.9992, 1 - 1e-9, 1].map(atMost), ['>99.9%', '>99.9%', '>99.9%']);
    assert.deepEqual([0.5533, 0.9992].map(rightAtMost), ['at most 55.4%', 'above 99.9%']);
});
