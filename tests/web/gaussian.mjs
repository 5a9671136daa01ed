/* gaussian.mjs -- the page's normal distribution against the accountant's,
 * which encloses its own errors; agreement within 1e-12 is many times what a
 * page that shows one decimal needs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from './tap.mjs';
import { caught, epsilonAt, guessedRight, normalBelow, normalQuantile } from '../../src/web/gaussian.js';
import { atMost } from '../../src/web/format.js';

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
await test('bounds are rounded up', () => {
    assert.equal(atMost(0.5533), '55.4%');
    assert.equal(atMost(0.5), '50%');
    assert.equal(atMost(0.9992), '99.92%');
    assert.equal(atMost(1 - 1e-9), '100%');
    assert.equal(atMost(1), '100%');
});
