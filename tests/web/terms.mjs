/* terms.mjs -- derived features in JavaScript are those that an independent program computed.
 *
 *   node terms.mjs PUBLISHED...    one for each study of tests/vectors/terms.json, in its order */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Study } from 'tremolo-device';
import { studyId, toBase64 } from 'tremolo-device/study_id';
import { test } from './tap.mjs';

const vectors = JSON.parse(readFileSync('tests/vectors/terms.json', 'utf8'));
const published = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));

await test('every sample has the integers of the vectors', async () => {
    for (const [i, { cases }] of vectors.entries()) {
        const study = await Study.receive(published[i], { url: `https://example.invalid/v1/studies/${published[i].id}`, trustNew: true });
        for (const { sample, features } of cases) assert.deepEqual(study.sampleOf(sample).features, features);
    }
});

await test('the id covers every term, bound and filling', () => {
    for (const { id, study } of published) {
        assert.equal(toBase64(studyId(study)), id);
        for (const [i, term] of study.terms.entries()) {
            const others = typeof term === 'string' ? [`${term} `] : [{ ...term, low: term.low - 1 }, { ...term, high: term.high + 1 }, term.term];
            for (const other of others) {
                assert.notEqual(toBase64(studyId({ ...study, terms: study.terms.toSpliced?.(i, 1, other) ?? study.terms.map((one, j) => (j === i ? other : one)) })), id);
            }
        }
        const features = study.features.map(({ missing, ...rest }) => rest);
        assert.notEqual(toBase64(studyId({ ...study, features })), id);
        assert.notEqual(toBase64(studyId({ ...study, terms: undefined })), id);
    }
});

await test('a sample with a missing value that nothing replaces is refused', async () => {
    const study = await Study.receive(published[0], { url: `https://example.invalid/v1/studies/${published[0].id}`, trustNew: true });
    assert.throws(() => study.sampleOf({ income: 5, score: 50 }), /age is missing/);
    assert.throws(() => study.sampleOf({ age: 5, income: 5, platform: 'none', score: 50 }), /no such level/);
});
