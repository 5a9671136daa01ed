/* study_id.mjs -- ids and budgets computed in JavaScript are those of the command.
 *
 *   node study_id.mjs SETTING    SETTING: {published: [FILE...], budget}
 *
 * `budget` is what tremolo_policy_budget() gives for the default policy. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { agreed, blake2b256, fromBase64, studyId, toBase64 } from 'tremolo-device/study_id';
import { POLICY } from '../../src/web/participant/policy.js';
import { test } from './tap.mjs';

const setting = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const hex = (bytes) => Buffer.from(bytes).toString('hex');

/* From Python's hashlib: lengths around the edges of a block. */
await test('BLAKE2b-256 agrees with another implementation', () => {
    for (const { length, hash } of setting.hashes) {
        assert.equal(hex(blake2b256(Uint8Array.from({ length }, (_, i) => (7 * i) % 256))), hash, `${length} bytes`);
    }
});

await test('the id of every published study is the server’s', () => {
    for (const file of setting.published) {
        const { id, study } = JSON.parse(readFileSync(file, 'utf8'));
        assert.equal(toBase64(studyId(study)), id);
        assert.deepEqual(toBase64(fromBase64(id)), id);
        assert.notEqual(toBase64(studyId({ ...study, title: `${study.title}.` })), id);
    }
});

/* Every leaf of a document, with a way to change it. */
function* leaves(value, path = []) {
    if (typeof value !== 'object' || value === null) yield path;
    else for (const key of Object.keys(value)) yield* leaves(value[key], [...path, key]);
}

function changed(study, path, value) {
    const copy = structuredClone(study);
    const last = path.slice(0, -1).reduce((at, key) => at[key], copy);
    last[path.at(-1)] = value;
    return copy;
}

const OTHERS = ['private', 'public', 'features', 'all', 'any', 'iterative', 'one-shot', 'ballot', 'sample', 'keys', 'open',
    'numeric', 'yes-no', 'paper', 'x', '2031-01-01', 0, 1, 0.5, 3, 77];

/* A changed member changes the id, makes it impossible, or is not shown. */
await test('what a participant is shown is what the id covers', () => {
    let unseen = 0;
    for (const file of setting.published) {
        const { id, study } = JSON.parse(readFileSync(file, 'utf8'));
        const shown = agreed(study);
        const added = [['response', 'note'], ['privacy', 'note'], ['protocol', 'rounds'], ['protocol', 'vectors'], ['privacy', 'clip'], ['note']];
        for (const path of [...leaves(study), ...added]) {
            for (const other of OTHERS) {
                const lie = changed(study, path, other);
                let hash = null;
                try { hash = toBase64(studyId(lie)); } catch { /* refused */ }
                if (hash !== id) continue;
                unseen += 1;
                assert.deepEqual(agreed(lie), shown, path.join('.'));
            }
        }
        assert.equal(toBase64(studyId(shown)), id);
        assert.equal(shown.response.sent, undefined);
    }
    assert.ok(unseen > 0, 'nothing was tried');
});

await test('the budget is that of the default policy', () => {
    assert.equal(POLICY.budget, setting.budget);
    /* The budget is rounded down to a unit of 2^-24: below 8, and by less than a millionth. */
    const epsilon = POLICY.epsilonOfCharge(POLICY.budget);
    assert.ok(epsilon <= POLICY.epsilonTotal * (1 + 1e-12) && epsilon > POLICY.epsilonTotal * (1 - 1e-6));
});
