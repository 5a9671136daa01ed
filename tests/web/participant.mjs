/* participant.mjs -- the participant's page and the device in it, in a browser.
 *
 *   node participant.mjs SETTING    SETTING: {url, ballot, open, over, keys, closed, rounds, damaged}
 *
 * Every test that contributes has a browser, and thus a ledger, of its own. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessibilityFindings, bytesTaken, layoutShift, openBrowser, openPage, overflows, screenshot } from './browser.mjs';
import { test } from './tap.mjs';

const setting = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const at = (id) => `${setting.url}/studies/${id}/about`;
const ask = async (id, what) => (await fetch(`${setting.url}/v1/studies/${id}/${what}`)).json();
const reports = async (id) => (await ask(id, 'estimate')).reports;

/* One browser for all tests that leave nothing behind in it. */
const reading = await openBrowser();

async function withPage(id, options, body) {
    const opened = await open(reading, id, options);
    try {
        await body(opened);
    } finally {
        await opened.page.close();
    }
}

async function withBrowser(body) {
    const browser = await openBrowser();
    try {
        await body(browser);
    } finally {
        await browser.close();
    }
}

/* A page on which every report that was tried is kept. */
async function open(browser, id, options) {
    const opened = await openPage(browser, at(id), options);
    opened.sent = [];
    opened.page.on('request', (request) => {
        if (request.method() === 'POST') opened.sent.push(request.postDataBuffer().toString('hex'));
    });
    return opened;
}

const asked = (page) => page.waitForSelector('form.answers');

async function outcome(page, words) {
    const shown = () => page.evaluate(() => document.querySelector('.outcome')?.textContent ?? '');
    try {
        await page.waitForFunction((wanted) => (
            (document.querySelector('.outcome')?.textContent ?? '').includes(wanted)), words);
    } catch {
        assert.fail(`the page says “${await shown()}” instead of “${words}”`);
    }
}

async function fill(page) {
    for (const input of await page.$$('form input[type=number]')) await input.fill('50');
    for (const select of await page.$$('form select')) await select.selectOption({ index: 2 });
    await page.locator('.preview.drawn').waitFor();
    await page.check('#consent');
}

async function contribute(page) {
    await asked(page);
    await fill(page);
    await page.click('.go');
    await outcome(page, 'it counts once'); /* accepted, or arrived before where an answer took too long */
}

/* What is left, what the report takes and what would remain, in percent; what is left alone once it is sent. */
const shownBudget = (page) => page.$eval('.answers .budget, section > div > .budget', (node) => ['left', 'takes', 'after']
    .map((kind) => node.querySelector(`data.${kind}`)).filter(Boolean).map((one) => parseFloat(one.textContent)));

async function slots(page, change) {
    return page.evaluate(async (what) => {
        const request = indexedDB.open('tremolo-device');
        const database = await new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
        const transaction = database.transaction('slots', 'readwrite');
        const store = transaction.objectStore('slots');
        const heard = (asked) => new Promise((resolve) => { asked.onsuccess = () => resolve(asked.result); });
        const keys = await heard(store.getAllKeys());
        const those = { damage: keys, 'damage one': [0] }[what] ?? [];
        for (const slot of those) {
            const bytes = await heard(store.get(slot));
            bytes[40] ^= 1;
            store.put(bytes, slot);
        }
        if (what === 'clear') store.clear();
        const first = Array.from(await heard(store.get(0)) ?? []);
        await new Promise((resolve) => { transaction.oncomplete = resolve; });
        database.close();
        return { count: keys.length, first };
    }, change);
}

await test('the page says what is asked, in text', () => withPage(setting.open, {}, async ({ page, faults }) => {
    await asked(page);
    const { study } = await (await fetch(`${setting.url}/v1/studies/${setting.open}`)).json();
    assert.equal(await page.textContent('h1'), study.title);
    const names = await page.$$eval('.terms tbody th', (cells) => cells.map((cell) => cell.textContent));
    assert.deepEqual(names, [...study.features.map((one) => one.name), study.response.name]);
    assert.equal(await page.locator('main img, main script, main b').count(), 0);
    const guarantee = await ask(setting.open, 'guarantee');
    assert.deepEqual(guarantee, (await ask(setting.open, 'estimate')).guarantee);
    assert.ok(guarantee.participant === await page.textContent('.lead'), 'other words than the server’s');
    assert.equal(await page.locator('form input[type=number]').count(), 3);
    assert.equal(await page.locator('form select').count(), 2);
    assert.match(await page.textContent('.caution'), /program that adds the noise, comes from the very server/);
    assert.match(await page.textContent('#trust'), /what it has given/);
    assert.ok(await page.getByText('All of this holds if this page is honest').isVisible());
    /* Boxes of a row stand at one height, with a hint or without. */
    const tops = await page.$$eval('.field :is(input, select)', (all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
    assert.equal(tops[1], tops[2]);
    assert.match(await page.textContent('main'), /signature of the server’s key holds/);
    assert.deepEqual(faults, []);
}));

await test('nothing jumps, and a first visit takes at most 60 kB', () => withBrowser(async (browser) => {
    for (const [width, name] of [[1100, 'open'], [390, 'ballot']]) {
        const { page } = await openPage(browser, at(setting[name]), { width, height: 800 });
        await asked(page);
        const shift = await layoutShift(page);
        assert.ok(shift < 0.05, `${name} jumped by ${shift}`);
        const bytes = await bytesTaken(page);
        if (name === 'open') assert.ok(bytes > 20000 && bytes <= 60000, `${bytes} bytes`);
        await page.close();
    }
}));

await test('an example report is made here and not sent', () => withPage(setting.open, {}, async ({ page, sent }) => {
    await asked(page);
    await page.getByText('What leaves your device, byte by byte').click();
    await page.waitForSelector('.leaving .bytes');
    const first = await page.textContent('.bytes .noisy code');
    await page.getByRole('button', { name: 'once more' }).click();
    await page.waitForFunction((before) => document.querySelector('.bytes .noisy code').textContent !== before, first);
    assert.equal(sent.length, 0);
}));

await test('what will leave is shown before it is sent, and not sent', () => withPage(setting.open, {}, async ({ page, sent }) => {
    await asked(page);
    assert.doesNotMatch((await page.locator('.preview td').allInnerTexts()).join(' '), /[0-9]/, 'a frame without numbers');
    assert.equal(await page.locator('.preview.drawn').count(), 0);
    assert.equal(await page.locator('.sent').count(), 0, 'nothing was sent');
    await fill(page);
    await page.waitForSelector('.preview table tbody tr');
    const rows = await page.$$eval('.preview tbody tr', (all) => all.map((row) => [...row.children].map((one) => one.textContent)));
    assert.equal(rows.length, 6); /* age, sleep, smoker, two levels of watch, heart rate as it is */
    assert.ok(rows.slice(0, 5).every(([, , integer]) => /^−?[0-9,]+$/.test(integer)));
    assert.deepEqual(rows.at(-1).slice(2), ['as it is', 'your answer']);
    assert.match(await page.innerText('.step .either'), /noise at work/);
    await page.fill('#answer-1', '12.5');
    await page.getByText('12.5, counted as 11').waitFor();
    await page.fill('#answer-4', '500');
    await page.getByText('500, counted as 110').waitFor();
    await page.waitForTimeout(300);
    assert.equal(sent.length, 0);
    assert.equal(await page.evaluate(() => localStorage.getItem('tremolo-device-enrolled')), null);
}));

for (const [name, width] of [['open', 1100], ['ballot', 1100], ['damaged', 390], ['ballot', 390]]) {
    await test(`the button stays where it is while answers are given: ${name}, ${width} pixels`, () => withPage(setting[name], { width }, async ({ page }) => {
        await asked(page);
        const top = () => page.$eval('.go', (node) => Math.round(node.getBoundingClientRect().top + scrollY));
        const before = await top();
        await fill(page);
        assert.equal(await top(), before);
        await page.fill('#answer-0', name === 'ballot' ? '' : '5000'); /* incomplete again, or beyond its bounds */
        await page.waitForTimeout(600);
        assert.equal(await top(), before);
        assert.equal(await overflows(page), false);
        await screenshot(page, `participant-filled-${name}-${width}`);
    }));
}

await test('contributing is accepted once; a reload sends nothing, and a button the same bytes', () => withBrowser(async (browser) => {
    const before = await reports(setting.open);
    const { page, faults, sent } = await open(browser, setting.open);
    await asked(page);
    const budget = await shownBudget(page);
    assert.equal(budget[0], 100);
    await fill(page);
    await page.click('.go');
    await outcome(page, 'accepted');
    assert.equal(await reports(setting.open), before + 1);
    assert.equal((await shownBudget(page))[0], budget[2]);
    assert.equal(sent.length, 1);
    const shown = (await page.$$eval('.sent .bytes code', (all) => all.map((one) => one.textContent).join(' '))).replaceAll(' ', '');
    assert.equal(shown, sent[0]);
    await screenshot(page, 'participant-accepted');
    assert.equal(await page.textContent('h2'), 'Thank you', 'the first heading');
    assert.match(await page.textContent('.budget .facts'), /^[0-9.]+% spent, [0-9.]+% left of this browser’s/);
    assert.equal(await page.getByText('For the curious').count(), 1);
    assert.equal(await page.evaluate(() => scrollY), 0);
    assert.equal(await page.evaluate(() => document.activeElement.className), 'outcome', 'the focus was lost');
    await page.reload();
    await outcome(page, 'Nothing is sent now');
    assert.equal(sent.length, 1);
    assert.equal((await shownBudget(page))[0], budget[2]);
    assert.equal(await page.locator('form.answers').count(), 0);
    await page.locator('.sent summary').click();
    await page.getByRole('button', { name: 'Send again' }).click();
    await outcome(page, 'arrived before');
    assert.deepEqual(sent, [sent[0], sent[0]]);
    assert.equal(await reports(setting.open), before + 1);
    assert.deepEqual(faults, []);
}));

await test('a lost answer is asked for again, with the same bytes', () => withBrowser(async (browser) => {
    const before = await reports(setting.open);
    const { page, sent } = await open(browser, setting.open);
    await asked(page);
    await fill(page);
    await page.route('**/reports', async (route) => { /* the server hears it, the page does not hear the server */
        await route.fetch();
        await route.abort();
    });
    await page.click('.go');
    await outcome(page, 'kept and will be sent again');
    assert.equal(await reports(setting.open), before + 1);
    const lost = sent.length;
    await page.unroute('**/reports');
    await page.reload();
    await outcome(page, 'arrived before');
    assert.ok(sent.length > lost, 'nothing was sent after the reload');
    assert.equal(new Set(sent).size, 1);
    assert.equal(await reports(setting.open), before + 1);
}));

await test('a number beyond its bounds is taken, and counts as the bound', () => withBrowser(async (browser) => {
    const { page, sent } = await open(browser, setting.open);
    await asked(page);
    await fill(page);
    await page.fill('#answer-0', '17.5');
    assert.equal(await page.textContent('#answer-0-beyond'), 'It will count as 18, the lowest.');
    await page.fill('#answer-0', '18');
    assert.equal(await page.textContent('#answer-0-beyond'), '');
    await page.fill('#answer-4', '500');
    assert.equal(await page.textContent('#answer-4-beyond'), 'It will count as 110, the highest.');
    await page.click('.go');
    await outcome(page, 'accepted');
    assert.equal(sent.length, 1);
    /* The response is sent as it is: the upper bound is the largest integer. */
    assert.equal(await page.locator('.sent table tbody tr').last().locator('td').first().textContent(), '32,767');
}));

await test('two tabs that race make one report', () => withBrowser(async (browser) => {
    const before = await reports(setting.open);
    const tabs = [await open(browser, setting.open), await open(browser, setting.open)];
    for (const { page } of tabs) {
        await asked(page);
        await fill(page);
    }
    await Promise.all(tabs.map(({ page }) => page.evaluate(() => document.querySelector('form.answers').requestSubmit())));
    await Promise.all(tabs.map(({ page }) => outcome(page, 'it counts once')));
    assert.equal(await reports(setting.open), before + 1);
    assert.equal(tabs[0].sent[0], tabs[1].sent[0]);
}));

await test('offline the report is kept, and the same bytes leave later', () => withBrowser(async (browser) => {
    const before = await reports(setting.open);
    const { page, sent } = await open(browser, setting.open);
    await asked(page);
    await fill(page);
    await browser.context.setOffline(true);
    await page.click('.go');
    await outcome(page, 'kept and will be sent again');
    assert.equal(await reports(setting.open), before);
    await browser.context.setOffline(false);
    await outcome(page, 'accepted');
    assert.ok(sent.length >= 2);
    assert.equal(new Set(sent).size, 1);
    assert.equal(await reports(setting.open), before + 1);
}));

await test('a page closed before the answer sends the same bytes when it is back', () => withBrowser(async (browser) => {
    const before = await reports(setting.open);
    const first = await open(browser, setting.open);
    await asked(first.page);
    await fill(first.page);
    await first.page.route('**/reports', (route) => route.abort());
    await first.page.click('.go');
    await outcome(first.page, 'kept and will be sent again');
    await first.page.close();
    const second = await open(browser, setting.open);
    await outcome(second.page, 'accepted');
    assert.equal(second.sent[0], first.sent[0]);
    assert.equal(await reports(setting.open), before + 1);
}));

await test('each round has its report and its charge', () => withBrowser(async (browser) => {
    await withBrowser(async (other) => { /* a round needs two reports before it can be closed */
        const { page } = await open(other, setting.rounds);
        await contribute(page);
    });
    const { page, sent } = await open(browser, setting.rounds);
    await contribute(page);
    const afterOne = (await shownBudget(page))[0];
    const closed = await fetch(`${setting.url}/v1/studies/${setting.rounds}/round/close`, {
        method: 'POST', headers: { Authorization: `Bearer ${readFileSync(setting.token, 'utf8').trim()}` },
    });
    assert.equal(closed.status, 200, await closed.text());
    await page.reload();
    await contribute(page);
    assert.ok((await shownBudget(page))[0] < afterOne);
    assert.equal(new Set(sent).size, 2);
}));

for (const [name, words] of [['over', 'allows 2 for a study'], ['keys', 'enrolled devices only'], ['closed', 'closed']]) {
    await test(`nothing is asked of a study that is not for this page: ${name}`, () => withPage(setting[name], {}, async ({ page, faults, sent }) => {
        await outcome(page, words);
        assert.equal(await page.locator('form.answers').count(), 0);
        assert.equal(sent.length, 0);
        assert.equal(await page.evaluate(() => localStorage.getItem('tremolo-device-enrolled')), null);
        /* Why comes first, and nothing is said of what this browser would have given. */
        assert.equal(await page.$eval('main', (node) => node.children[1].contains(node.querySelector('.outcome'))), true);
        if (name === 'over') assert.match(await page.textContent('.outcome'), /^You cannot take part here: this study would protect you too little\. /);
        assert.doesNotMatch(await page.textContent('#trust'), /what it has given/);
        assert.deepEqual(faults, []);
    }));
}

for (const [change, words] of [['damage', 'damaged'], ['clear', 'is gone']]) {
    await test(`a ledger is not forgiven: ${change}`, () => withBrowser(async (browser) => {
        const { page, sent } = await open(browser, setting.open);
        await contribute(page);
        assert.ok((await slots(page, change)).count >= 2);
        await page.goto(at(setting.damaged));
        await outcome(page, words);
        assert.equal(await page.locator('form.answers').count(), 0);
        assert.equal(sent.length, 1);
    }));
}

await test('what a visit repairs is stored, and a lost note is made again', () => withBrowser(async (browser) => {
    const { page, sent } = await open(browser, setting.open);
    await contribute(page);
    const whole = (await slots(page)).first;
    assert.notDeepEqual((await slots(page, 'damage one')).first, whole);
    await page.evaluate(() => localStorage.removeItem('tremolo-device-enrolled'));
    await page.reload();
    await outcome(page, 'Nothing is sent now');
    assert.deepEqual((await slots(page)).first, whole);
    assert.equal(await page.evaluate(() => localStorage.getItem('tremolo-device-enrolled')), 'yes');
    assert.equal(sent.length, 1);
}));

/* From the page's own core over HTTP into the server's sums. */
await test('ballots of two browsers are accepted and counted', async () => {
    const estimates = [await ask(setting.ballot, 'estimate')];
    const lengths = new Set();
    for (const values of ['20', '80']) {
        await withBrowser(async (browser) => {
            const { page, faults, sent } = await open(browser, setting.ballot);
            await asked(page);
            assert.equal((await shownBudget(page))[0], 100);
            assert.match(await page.textContent('#trust'), /program that draws the reply/);
            for (const input of await page.$$('form input[type=number]')) await input.fill(values);
            for (const select of await page.$$('form select')) await select.selectOption({ index: 1 });
            await page.locator('.preview.drawn').waitFor();
            await page.check('#consent');
            await page.click('.go');
            await outcome(page, 'accepted');
            /* Epsilon 2 of 8, up to the rounding of a charge. */
            assert.ok(Math.abs((await shownBudget(page))[0] - 75) < 0.01);
            assert.equal(sent.length, 1);
            lengths.add(sent[0].length);
            await page.reload();
            await outcome(page, 'Nothing is sent now');
            assert.deepEqual(faults, []);
        });
        estimates.push(await ask(setting.ballot, 'estimate'));
    }
    assert.deepEqual(estimates.map((one) => one.reports), [0, 1, 2]);
    assert.equal(estimates[2].guarantee.delta, 0);
    assert.equal(lengths.size, 1, 'a report’s length depends on the answers');
});

await test('a server with another key is refused', () => withBrowser(async (browser) => {
    const { page } = await open(browser, setting.open);
    await asked(page);
    await page.evaluate(() => localStorage.setItem('tremolo-server-key', 'A'.repeat(43)));
    await page.reload();
    await page.getByText('had another key').first().waitFor();
    assert.equal(await page.locator('form.answers').count(), 0);
}));

/* A server that lies to this page: what it answers for a path, and what the page says. */
async function refused(path, answer, words) {
    const { page } = await openPage(reading, `${setting.url}/`);
    await page.route(`**${path}`, (route) => route.fulfill({ body: answer, contentType: 'application/json' }));
    await page.goto(at(setting.open));
    await page.getByText(words).first().waitFor();
    assert.equal(await page.locator('form.answers').count(), 0);
    await page.close();
}

await test('another study under the address is refused', async () => {
    const other = await (await fetch(`${setting.url}/v1/studies/${setting.over}`)).text();
    await refused(`/v1/studies/${setting.open}`, other, 'another study than the address names');
});

await test('a promise that the id does not cover is not shown', async () => {
    const published = await (await fetch(`${setting.url}/v1/studies/${setting.open}`)).json();
    published.study.response.sent = 'private'; /* a lie: this study protects features only */
    const { page } = await openPage(reading, `${setting.url}/`);
    await page.route(`**/v1/studies/${setting.open}`, (route) => route.fulfill({ body: JSON.stringify(published), contentType: 'application/json' }));
    await page.goto(at(setting.open));
    await asked(page);
    const roles = await page.$$eval('.terms tbody td:last-child', (cells) => cells.map((cell) => cell.textContent));
    assert.equal(roles.at(-1), 'response, sent as it is');
    await page.close();
});

await test('a wrong signature is refused', async () => {
    const published = await (await fetch(`${setting.url}/v1/studies/${setting.open}`)).json();
    const other = await (await fetch(`${setting.url}/v1/studies/${setting.over}`)).json();
    await refused(`/v1/studies/${setting.open}`, JSON.stringify({ ...published, signature: other.signature }), 'signature is wrong');
});

await test('words that promise more than the numbers give are refused', async () => {
    const guarantee = await ask(setting.open, 'guarantee');
    guarantee.mu /= 1.01;
    await refused(`/v1/studies/${setting.open}/guarantee`, JSON.stringify(guarantee), 'promise something else');
});

for (const scheme of ['light', 'dark']) {
    await test(`no accessibility findings, ${scheme}`, () => withPage(setting.open, { scheme }, async ({ page }) => {
        await asked(page);
        await screenshot(page, `participant-${scheme}`);
        assert.deepEqual(await accessibilityFindings(page), []);
    }));
}

await test('a phone 360 pixels wide needs no sideways scrolling', () => withPage(setting.open, { width: 360, height: 780 }, async ({ page }) => {
    await asked(page);
    assert.equal(await overflows(page), false);
    await screenshot(page, 'participant-360');
}));

await test('everything can be reached with the keyboard', () => withPage(setting.open, {}, async ({ page }) => {
    await asked(page);
    await page.focus('#answer-0');
    const reached = new Set();
    for (let i = 0; i < 7; i++) {
        reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
        await page.keyboard.press('Tab');
    }
    for (const wanted of ['answer-0', 'answer-1', 'answer-2', 'answer-3', 'answer-4', 'consent', 'go']) {
        assert.ok(reached.has(wanted), `${wanted} of ${[...reached]}`);
    }
}));

await reading.close();
