/* package.mjs -- the npm package as it was installed: stores, refusals, sending, and the example page.
 *
 *   node package.mjs SETTING    SETTING: {url, key, study, closed, project} */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Device, MemoryStore, Policy, Study, upload } from 'tremolo-device';
import { FileStore } from 'tremolo-device/file';
import { openBrowser, openPage } from './browser.mjs';
import { test } from './tap.mjs';

const setting = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const trust = { serverKey: setting.key };
const VALUES = { sleep: 7.2, smoker: 'no', 'heart rate': 61 };
const refusedAs = (statusName) => (error) => error.statusName === statusName;
const fetched = () => Study.fetch(setting.study, trust);

async function withFolder(body) {
    const folder = mkdtempSync(join(tmpdir(), 'tremolo-package-'));
    try {
        await body(folder);
    } finally {
        rmSync(folder, { recursive: true });
    }
}

/* A server on loopback for as long as body runs. */
async function withServer(answer, body) {
    const server = createServer(answer);
    await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
    try {
        await body(`http://127.0.0.1:${server.address().port}`);
    } finally {
        server.closeAllConnections();
        server.close();
    }
}

await test('a study is refused under another key, without one, and under another id', async () => {
    const published = await (await fetch(setting.study)).json();
    await assert.rejects(Study.fetch(setting.study, { serverKey: published.id }), refusedAs('NOT_TRUSTED'));
    await assert.rejects(Study.fetch(setting.study, {}), refusedAs('NOT_TRUSTED'));
    await assert.rejects(Study.receive(published, { ...trust, url: setting.closed }), refusedAs('WRONG_STUDY'));
    const signature = `${published.signature.startsWith('A') ? 'B' : 'A'}${published.signature.slice(1)}`;
    await assert.rejects(Study.receive({ ...published, signature }, { ...trust, url: setting.study }), refusedAs('BAD_SIGNATURE'));
    assert.equal((await Study.fetch(setting.study, { trustNew: true })).key, setting.key);
});

await test('an answer that is too long, no JSON or not there is refused', async () => {
    const bodies = { long: ' '.repeat(400 * 1024), words: 'hello' };
    await withServer((request, response) => response.end(bodies[request.url.slice(1)]), async (url) => {
        await assert.rejects(Study.fetch(`${url}/long`, trust), /BAD_ANSWER: the answer has more than/);
        await assert.rejects(Study.fetch(`${url}/words`, trust), /BAD_ANSWER: the answer is not JSON/);
    });
    await assert.rejects(Study.fetch('http://127.0.0.1:1/v1/studies/x', trust), refusedAs('NETWORK_FAILED'));
});

await test('a sample names every feature once, in the study’s terms', async () => {
    const study = await fetched();
    const wrong = [[{ smoker: 'no', 'heart rate': 61 }, 'sleep is missing'], [{ ...VALUES, sleep: '7.2' }, 'sleep is not a number'],
        [{ ...VALUES, sleep: NaN }, 'sleep is not a number'], [{ ...VALUES, smoker: 'perhaps' }, 'neither yes nor no'],
        [{ ...VALUES, age: 4 }, 'does not ask for age']];
    for (const [values, words] of wrong) {
        assert.throws(() => study.sampleOf(values), (error) => refusedAs('BAD_SAMPLE')(error) && error.detail.includes(words));
    }
});

await test('what is refused costs nothing, and what is spent is said', async () => {
    const study = await fetched();
    const round = await study.round();
    const closed = await Study.fetch(setting.closed, trust);
    const device = new Device(new MemoryStore());
    assert.equal(await device.budget(), null);
    await assert.rejects(device.report(study, round, VALUES), refusedAs('LEDGER_MISSING'));
    await device.enrol();
    await assert.rejects(device.report(closed, await closed.round(), VALUES), refusedAs('ROUND_CLOSED'));
    const strict = new Device(new MemoryStore(), { policy: new Policy({ epsilonPerStudy: 1 }) });
    await strict.enrol();
    await assert.rejects(strict.report(study, round, VALUES), refusedAs('POLICY_REFUSED'));
    assert.equal((await strict.budget()).epsilonSpent, 0);
    const small = new Device(new MemoryStore(), { policy: new Policy({ epsilonTotal: 1.5 }) });
    await small.enrol();
    await assert.rejects(small.report(study, round, VALUES), refusedAs('BUDGET_EXHAUSTED'));
    const { epsilon, isAllowed } = await device.cost(study);
    await device.report(study, round, VALUES);
    assert.equal((await device.budget()).epsilonSpent, epsilon);
    assert.ok(isAllowed && epsilon > 1.99 && epsilon <= 2);
});

await test('processes that race on one folder make one report', () => withFolder(async (folder) => {
    const program = join(setting.project, 'package_consumer.mjs');
    const outputs = await Promise.all(Array.from({ length: 4 }, () => new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [program, setting.study, setting.key, join(folder, 'ledger')], { stdio: ['ignore', 'pipe', 'inherit'] });
        let text = '';
        child.stdout.on('data', (part) => { text += part; });
        child.on('close', (code) => (code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`exit ${code}`))));
    })));
    assert.equal(new Set(outputs.map(({ bytes }) => bytes.join())).size, 1);
    assert.equal(outputs.reduce((sum, { accepted }) => sum + accepted, 0), 1);
    assert.ok(outputs.every(({ spent }) => spent <= 2));
    assert.deepEqual(readdirSync(join(folder, 'ledger')).filter((name) => !/^(slot-\d+|enrolled)$/.test(name)), []);
}));

await test('a lock of a process that died is taken over, any other is not', () => withFolder(async (folder) => {
    const gone = execFileSync(process.execPath, ['-p', 'process.pid']).toString().trim();
    const store = new FileStore(folder);
    writeFileSync(join(folder, 'lock'), `${hostname()} ${gone}`);
    await new Device(store).enrol();
    assert.notEqual(await new Device(store).budget(), null);
    writeFileSync(join(folder, 'lock'), `elsewhere ${gone}`);
    const waited = new Device(store).budget();
    const first = await Promise.race([waited, new Promise((resolve) => { setTimeout(resolve, 500, 'waiting'); })]);
    assert.equal(first, 'waiting');
    rmSync(join(folder, 'lock'));
    assert.notEqual(await waited, null);
}));

await test('a folder that lost its ledger gets no second one', () => withFolder(async (folder) => {
    const device = new Device(new FileStore(folder));
    await device.enrol();
    readdirSync(folder).filter((name) => name.startsWith('slot-')).forEach((name) => rmSync(join(folder, name)));
    await assert.rejects(device.enrol(), refusedAs('LEDGER_LOST'));
}));

await test('sending goes on after busy and broken answers, with the same bytes, and ends with a refusal', async () => {
    const bodies = [];
    const answers = [
        (response) => response.writeHead(503, { 'Retry-After': '0' }).end(),
        (response) => response.destroy(),
        (response) => response.writeHead(429).end('{}'),
        (response) => response.end('{"accepted": 1, "repeated": 0}'),
        (response) => response.writeHead(410).end('{"detail": "the round is closed"}'),
    ];
    await withServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part)).on('end', () => {
            bodies.push(Buffer.concat(parts).toString('hex'));
            answers.shift()(response);
        });
    }, async (url) => {
        let pauses = 0;
        const bytes = Uint8Array.of(1, 2, 3);
        const receipt = await upload({ url }, bytes, { patienceMs: 60000, onRetry: () => { pauses += 1; } });
        assert.equal(receipt.accepted, 1);
        assert.deepEqual([pauses, new Set(bodies).size, bodies.length, bodies[0]], [3, 1, 4, '010203']);
        await assert.rejects(upload({ url }, bytes), (error) => refusedAs('ROUND_CLOSED')(error) && error.detail === 'the round is closed');
    });
    await assert.rejects(upload({ url: 'http://127.0.0.1:1' }, Uint8Array.of(1), { patienceMs: 0 }), refusedAs('NETWORK_FAILED'));
});

/* A worker without what only Node has. */
await test('nothing but the package for files needs Node', async () => {
    const source = `const { parentPort, workerData } = require('node:worker_threads');
        globalThis.crypto ??= require('node:crypto').webcrypto;
        for (const name of ['process', 'Buffer', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name];
        (async () => {
            const { Device, MemoryStore, Study } = await import(workerData.index);
            const study = await Study.receive(workerData.published, workerData.trust);
            const device = new Device(new MemoryStore());
            await device.enrol();
            const bytes = await device.report(study, { state: 'open', number: 0, vectors: [] }, workerData.values);
            parentPort.postMessage(bytes.length);
        })().catch((error) => parentPort.postMessage(String(error)));`;
    const workerData = { index: new URL(`file://${join(setting.project, 'node_modules/tremolo-device/index.mjs')}`).href,
        published: await (await fetch(setting.study)).json(), trust: { ...trust, url: setting.study }, values: VALUES };
    const worker = new Worker(source, { eval: true, workerData });
    const answer = await new Promise((resolve, reject) => { worker.once('message', resolve).once('error', reject); });
    assert.ok(answer > 30, String(answer));
});

const TYPES = { html: 'text/html', mjs: 'text/javascript' };

await test('the example page takes part in a browser, once', () => withServer((request, response) => {
    const path = new URL(request.url, 'http://host').pathname;
    if (path === '/favicon.ico') return response.writeHead(204).end();
    const file = path === '/take_part.html' ? 'examples/take_part.html' : join(setting.project, path);
    return response.setHeader('content-type', TYPES[path.split('.').pop()] ?? 'text/plain').end(readFileSync(file));
}, async (url) => {
    const browser = await openBrowser();
    try {
        const address = `${url}/take_part.html?${new URLSearchParams({ study: setting.study, key: setting.key })}`;
        const said = [];
        for (let visit = 0; visit < 2; visit++) {
            const { page, faults } = await openPage(browser, address);
            await page.click('button');
            await page.waitForFunction(() => document.querySelector('output').textContent.startsWith('Sent'));
            said.push(await page.textContent('output'));
            assert.deepEqual(faults.filter((fault) => !fault.startsWith('request to')), []);
            await page.close();
        }
        assert.match(said[0], /^Sent \d+ bytes\. Spent epsilon (1\.99\d*|2) of 8\.$/);
        assert.equal(said[1], said[0]);
    } finally {
        await browser.close();
    }
}));
