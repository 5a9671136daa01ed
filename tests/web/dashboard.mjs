/* dashboard.mjs -- what the dashboard must be and do, looked at in a browser.
 *
 *   node dashboard.mjs SETTING    SETTING: {url, swarm, plain, markup, rounds, fifty}
 *
 * `plain` starts without a report; its devices report while the page is open. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { accessibilityFindings, bytesTaken, layoutShift, openBrowser, openPage, overflows, screenshot } from './browser.mjs';
import { test } from './tap.mjs';

const setting = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const at = (id) => `${setting.url}/studies/${id}`;
const ask = async (id, what) => (await fetch(`${setting.url}/v1/studies/${id}/${what}`)).json();
const browser = await openBrowser();
const open = (url, options) => openPage(browser, url, options);
const DEVICES = 20000;
const ready = (page) => page.waitForSelector('main[aria-busy=false] .answers3 .lead:not(:empty)');

/* Devices that take some seconds over it, so that there is something to watch. */
function report(id) {
    return promisify(execFile)(setting.swarm, ['--url', `${setting.url}/v1/studies/${id}`,
        '--devices', String(DEVICES), '--batch', '100', '--threads', '2', '--pause', '60']);
}
const everyoneIsThere = (page) => page.waitForFunction((wanted) => (
    document.querySelector('.status .line')?.textContent.startsWith(`${wanted} devices`)), DEVICES.toLocaleString('en'));

async function closing({ page, faults }) {
    await page.close();
    assert.deepEqual(faults, []);
}

/* The exact numbers behind the table of what is visible: name -> {estimate, low, high, ...}. */
function shownCoefficients(page, part = 'tbody tr.known') {
    return page.$$eval(`#coefficients ${part}`, (rows) => rows.map((row) => ({
        name: row.querySelector('th bdi').textContent,
        ...Object.fromEntries([...row.querySelectorAll('data')].map((node) => [node.className, Number(node.value)])),
    })));
}

await test('the list names every study and leads to it', async () => {
    const opened = await open(`${setting.url}/`);
    const { page } = opened;
    await page.waitForSelector('.study');
    assert.equal(await page.locator('.study').count(), 4);
    await screenshot(page, 'list');
    const titles = () => page.$$eval('.study th a', (all) => all.map((one) => one.textContent));
    const first = (wanted) => page.waitForFunction((title) => document.querySelector('.study th a')?.textContent === title, wanted);
    await page.getByRole('button', { name: 'Study' }).click();
    await first('<img src=x onerror=alert(1)> &amp; <b>bold</b>');
    assert.equal(await page.locator('[aria-sort="ascending"]').textContent(), 'Study ▲');
    await page.getByRole('button', { name: 'Devices' }).click();
    await first('fifty at once');
    assert.match(page.url(), /sort=devices&order=down$/);
    await page.getByRole('searchbox').fill('FIFTY');
    await page.waitForFunction(() => document.querySelectorAll('.study').length === 1);
    assert.deepEqual(await titles(), ['fifty at once']);
    await page.reload();
    await page.waitForFunction(() => document.querySelectorAll('.study').length === 1);
    assert.equal(await page.getByRole('searchbox').inputValue(), 'FIFTY');
    assert.match(await page.locator('.study .in-devices').textContent(), /^3,000 of about [0-9,]+$/);
    assert.match(await page.locator('.study .badge').textContent(), /hardly any attacker right >99\.9% above the usual allowance/);
    await page.getByRole('searchbox').fill('no such thing');
    await page.getByText('No study has that in its title.').waitFor();
    await page.getByRole('searchbox').fill('');
    await page.waitForFunction(() => document.querySelectorAll('.study').length === 4);
    await page.locator(`a[href="/studies/${setting.plain}"]`).click();
    await page.waitForURL('**/studies/*');
    /* It protects hardly anything: the page that would refuse explains, and no one is invited. */
    await page.getByRole('link', { name: 'This page would not ask you: too little protection' }).click();
    await page.waitForURL('**/studies/*/about');
    await page.getByText('You cannot take part here').first().waitFor();
    await closing(opened);
});

/* An answer of the server, changed on its way. */
const changed = (page, path, change) => page.route(path, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: change(await response.json()) });
});

await test('a full page of the list comes whole, in order and without a jump', async () => {
    const { page, faults } = await open('about:blank');
    await changed(page, '**/v1/studies?*', (answer) => ({ ...answer, total: 60, matching: 60,
        studies: Array.from({ length: 25 }, (_, i) => ({ ...answer.studies[i % 4], id: `${i}`, title: `study ${i}`, state: i === 1 ? 'done' : 'open' })) }));
    await page.setViewportSize({ width: 412, height: 823 });
    await page.goto(`${setting.url}/`);
    await page.getByText('1 to 25 of 60').waitFor();
    assert.deepEqual(await page.$$eval('.study th a', (all) => all.map((one) => one.textContent)), Array.from({ length: 25 }, (_, i) => `study ${i}`));
    assert.ok(await layoutShift(page) < 0.05);
    await page.close();
    assert.deepEqual(faults.filter((fault) => !fault.startsWith('request to')), []);
});

await test('studies of one title differ in the list', async () => {
    const { page } = await open('about:blank');
    await changed(page, '**/v1/studies?*', (answer) => ({ ...answer, studies: answer.studies.map((one, i) => ({ ...one, title: i < 2 ? 'Pulse' : one.title })) }));
    await page.goto(`${setting.url}/`);
    await page.waitForFunction(() => document.querySelectorAll('.study').length === 4);
    const ids = await page.$$eval('.study', (all) => all.map((row) => [row.querySelector('a').getAttribute('href').split('/').at(-1).slice(0, 8), row.querySelector('code:not([hidden])')?.textContent ?? '']));
    assert.deepEqual(ids.map(([id, shown]) => shown === id), [true, true, false, false]);
    assert.deepEqual(ids.slice(2).map(([, shown]) => shown), ['', '']);
    await page.close();
});

await test('a study that closed without reports promises nothing more', async () => {
    const { page } = await open('about:blank');
    await changed(page, '**/history', (history) => ({ ...history, state: 'done' }));
    await page.goto(at(setting.markup));
    await ready(page);
    assert.match(await page.textContent('.answers3 .lead'), /^No significant effect: 0 of about [0-9,]+ devices, which unrelated features with effects of a usual size need$/);
    assert.equal(await page.textContent('.answer .amount'), 'No estimate');
    assert.doesNotMatch(await page.innerText('main'), /\byet\b|appear here once/);
    await page.close();
});

await test('a mistyped address is answered by a page', async () => {
    for (const [scheme, width] of [['light', 1100], ['dark', 360]]) {
        const page = await browser.context.newPage();
        await page.setViewportSize({ width, height: 760 });
        await page.emulateMedia({ colorScheme: scheme });
        assert.equal((await page.goto(`${setting.url}/studies/nope/`)).status(), 404);
        assert.deepEqual(await accessibilityFindings(page), []);
        assert.equal(await overflows(page), false);
        await screenshot(page, `missing-${scheme}`);
        await page.getByRole('link', { name: 'All studies' }).click();
        await page.waitForSelector('.study');
        await page.close();
    }
});

await test('before two devices nothing is claimed', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await ready(page);
    const { devices_needed: needed } = await ask(setting.plain, 'estimate');
    assert.ok(needed > 64, 'plan’s number, not the least that can be computed');
    assert.match(await page.textContent('.answers3 .lead'), /^No significant effect: 0 of about [0-9,]+ devices, which unrelated features with effects of a usual size need$/);
    await page.getByText('Nothing can be said before two devices have reported').waitFor();
    assert.equal(await page.locator('#coefficients .known').count(), 0);
    assert.equal(await page.locator('.answers3 :text("R²"), .multiples svg').count(), 0);
    assert.equal(await page.locator('a[href$="/about"]').count(), 1);
    await screenshot(page, 'study-empty');
    await closing(opened);
});

await test('the results follow while devices report', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await ready(page);
    const all = report(setting.plain);
    await page.waitForSelector('#coefficients .known .middle');
    await page.evaluate(() => { globalThis.kept = document.querySelector('#coefficients .known'); });
    const span = (rows) => rows[0].high - rows[0].low;
    const early = span(await shownCoefficients(page));
    await all;
    await everyoneIsThere(page);
    assert.ok(span(await shownCoefficients(page)) < early, 'the interval did not tighten');
    assert.ok(await page.evaluate(() => globalThis.kept === document.querySelector('#coefficients .known')), 'rows were made anew');
    await closing(opened);
});

await test('three answers: learnt, certain, private', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await everyoneIsThere(page);
    const estimate = await ask(setting.plain, 'estimate');
    const told = estimate.coefficients.slice(0, -1).filter((row) => row.low > 0 || row.high < 0);
    assert.match(await page.textContent('.answers3 .lead'), /goe?s? with (a )?(higher|lower) .*: .*, between .* and /);
    assert.equal(await page.textContent('.answer .amount'), `${told.length} of 3 effects are significant`);
    assert.equal(await page.textContent('.answer .pips'), '●'.repeat(told.length) + '○'.repeat(3 - told.length));
    const shown = await page.textContent('.answers3');
    assert.match(shown, /R-squared, between [0-9.]+% and [0-9.]+%/);
    assert.equal(estimate.guarantee.strength, 'hardly');
    assert.match(shown, /protects hardly anything/);
    assert.ok(await page.getByText('above the usual allowance').isVisible());
    /* Marks lie on the scale, its numbers at its ends, and names have the colour of their band. */
    const box = (what) => page.$eval(`.protection ${what}`, (node) => node.getBoundingClientRect().toJSON());
    const [scale, mark, left, right] = await Promise.all(['.gauge', '.promised', '.ends span:first-child', '.ends span:last-child'].map(box));
    assert.ok(mark.left >= scale.left - 0.5 && mark.right <= scale.right + 0.5, 'the mark hangs off');
    assert.ok(Math.abs(left.left - scale.left) < 1 && Math.abs(right.right - scale.right) < 1, 'numbers beside the ends');
    const colour = (what, of) => page.$eval(`.protection ${what}`, (node, name) => getComputedStyle(node)[name], of);
    assert.equal(await colour('.band-name', 'color'), await colour('.b3', 'fill'));
    assert.equal(await colour('.promised', 'fill'), await colour('.b3', 'fill'));
    await closing(opened);
});

await test('numbers are those of the estimate, to the bit, in both units', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await everyoneIsThere(page);
    const { coefficients } = await ask(setting.plain, 'estimate');
    const wanted = (by) => coefficients.slice(0, -1).map(({ name, range, estimate, standard_error: error, low, high, p }) => {
        const times = by === 'range' ? range : 1;
        return { name, low: low * times, high: high * times, estimate: estimate * times, standard_error: error * times, p };
    });
    const sorted = (rows) => rows.map((row) => Object.fromEntries(Object.entries(row).sort()));
    assert.deepEqual(sorted(await shownCoefficients(page)), sorted(wanted('range')));
    assert.match(await page.textContent('#coefficients caption'), /from its lowest to its highest value/);
    assert.ok(await page.isVisible('.interval-axis') && !await page.isVisible('.own-scale'));
    const over = (name) => page.locator('#coefficients tr.known', { hasText: name }).locator('.unit').textContent();
    assert.equal(await over('sleep'), 'over 8 h');
    await page.getByText('per unit', { exact: true }).click();
    assert.deepEqual(sorted(await shownCoefficients(page)), sorted(wanted('unit')));
    assert.match(await page.textContent('#coefficients caption'), /one more unit/);
    /* Steps and hours share no axis: a scale for each row, which the head says, and zero in the middle of all. */
    assert.ok(await page.isVisible('.own-scale') && !await page.isVisible('.interval-axis'));
    assert.equal(await over('sleep'), 'per h');
    assert.deepEqual(await page.$$eval('#coefficients tr.known .zero', (all) => all.map((one) => one.getAttribute('x1'))), ['50%', '50%', '50%']);
    const [intercept] = await shownCoefficients(page, 'tfoot tr');
    assert.equal(intercept.estimate, coefficients.at(-1).estimate);
    await screenshot(page, 'study');
    await closing(opened);
});

await test('coefficients over devices are kept through the history', async () => {
    const opened = await open(at(setting.plain));
    await everyoneIsThere(opened.page);
    assert.equal(await opened.page.locator('.multiples svg').count(), 3);
    const { convergence } = await ask(setting.plain, 'history');
    assert.ok(convergence.length >= 3 && convergence.at(-1).devices <= DEVICES);
    assert.ok(convergence.every(({ estimate, low, high }) => estimate.length === 3 && low.length === 3 && high.length === 3));
    assert.match(await opened.page.textContent('.multiples'), /clearly not zero since|visible at about|may be zero/);
    const tops = await opened.page.$$eval('.multiples svg', (all) => all.map((one) => one.getBoundingClientRect().top));
    assert.equal(new Set(tops.map(Math.round)).size, 1, 'charts of a row begin at one height');
    assert.ok((await opened.page.$$eval('.multiples svg .axis-label', (all) => all.map((one) => one.textContent))).every((text) => text === 'devices'));
    /* Drawn without being scrolled to; a projection is drawn apart from what was seen, and only where it comes to something. */
    const { coefficients, devices_needed: needed } = await ask(setting.plain, 'estimate');
    await opened.page.waitForFunction(() => [...document.querySelectorAll('.multiples .line:not(.ahead)')].filter((one) => one.getAttribute('d')).length === 3);
    const charts = await opened.page.$$eval('.multiples svg', (all) => all.map((svg) => (
        { dashed: Boolean(svg.querySelector('.line.ahead')?.getAttribute('d')), said: svg.textContent.includes('projected') })));
    const isTold = ({ low, high }) => low > 0 || high < 0;
    const rows = coefficients.slice(0, -1);
    /* Only what a chart has is explained. */
    const marked = (await opened.page.$$eval('.multiples .marks', (all) => all.map((one) => one.textContent))).some((text) => text.includes('planned'));
    assert.equal(await opened.page.getByText('effects of a usual size show from there').isVisible(), marked);
    const reached = rows.filter((row) => !isTold(row)).map(({ estimate, low, high }) => ((high - low) / 2 / estimate) ** 2).concat((needed ?? 0) / DEVICES);
    const isAhead = Math.max(1, ...reached.filter((times) => times <= 30)) * 1.1 >= 1.5;
    assert.deepEqual(charts, rows.map((row) => ({ dashed: isAhead && !isTold(row), said: isAhead && !isTold(row) })));
    await closing(opened);
});

await test('a projected number of devices lies on its axis', async () => {
    const { page } = await open('about:blank');
    await changed(page, '**/estimate', (estimate) => ({ ...estimate, devices_needed: null, coefficients: estimate.coefficients.map((row, i) => (
        { ...row, identified: true, estimate: 10 / (row.range ?? 1), ...(i > 0 ? { low: 5 / (row.range ?? 1), high: 15 / (row.range ?? 1) } : { low: -30 / row.range, high: 50 / row.range }) })) }));
    await page.goto(at(setting.plain));
    await everyoneIsThere(page);
    await page.waitForSelector('.multiples svg .line.ahead[d]', { state: 'attached' });
    const chart = page.locator('.multiples > div').first();
    assert.match(await chart.textContent(), /visible at about 320,000 devices/); /* (40 / 10)² times 20,000 */
    assert.ok((await chart.locator('.marks text').allTextContents()).includes('320k'), 'and is marked there');
    assert.ok(!await page.getByText('effects of a usual size show from there').isVisible() && await page.getByText('Dashed, right of “now”').isVisible());
    await screenshot(page, 'projected');
    await page.close();
});

await test('more devices than needed and nothing significant does not look like success', async () => {
    const { page } = await open('about:blank');
    const hide = (row) => ({ ...row, identified: false, estimate: null, standard_error: null, low: null, high: null, p: null });
    await changed(page, '**/estimate', (estimate) => ({ ...estimate, devices_needed: 5602, r2: null, coefficients: estimate.coefficients.map(hide),
        answers: [{ ...estimate.answers[0], text: ['No significant effect after 20,000 devices'], others: [], facts: [['About 5,700 are usually enough: effects are smaller.']] }, ...estimate.answers.slice(1)] }));
    await page.goto(at(setting.plain));
    await everyoneIsThere(page);
    assert.equal(await page.textContent('.answers3 .lead'), 'No significant effect after 20,000 devices');
    assert.match(await page.innerText('.answers3 .answer:first-child .facts'), /^About 5,700 are usually enough: /);
    assert.equal(await page.locator('.answers3 meter').isVisible(), false);
    assert.equal(await page.locator('.multiples svg').count(), 3, 'what was seen on the way is there');
    await page.close();
    const list = await open('about:blank');
    await changed(list.page, '**/v1/studies?*', (answer) => ({ ...answer, studies: answer.studies.map((one) => (
        { ...one, devices: 20000, summary: { ...one.summary, devices_needed: 5602, learnt: null } })) }));
    await list.page.goto(`${setting.url}/`);
    await list.page.getByText('more than the usual 5,700, still nothing').first().waitFor();
    assert.equal(await list.page.locator('.study meter').first().isVisible(), false);
    await list.page.close();
});

await test('a promise for people alike and that for any two have a line and a colour each', async () => {
    const { page } = await open('about:blank', { scheme: 'dark' });
    await changed(page, '**/estimate', (estimate) => ({ ...estimate, guarantee: { ...estimate.guarantee, strength: 'past', neighbours: 'distance=0.25',
        attacker_right: 0.554, any_two: { ...estimate.guarantee.any_two, attacker_right: 0.984 } } }));
    await page.goto(at(setting.plain));
    await ready(page);
    const lines = await page.$$eval('.protection .band-name', (all) => all.map((one) => [one.textContent, getComputedStyle(one).color]));
    assert.deepEqual(lines.map(([text]) => text), ['Between people alike: strong', 'Between any two: hardly any']);
    assert.notEqual(lines[0][1], lines[1][1]);
    assert.deepEqual(await accessibilityFindings(page), []);
    await page.close();
});

/* What a button saves: {name, text}. */
async function saved(page, name) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

await test('the small charts are saved together, as a picture and as a table', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await everyoneIsThere(page);
    await page.waitForFunction(() => document.querySelectorAll('.multiples svg[viewBox]').length === 3);
    const table = await saved(page, 'Save as CSV: Estimates as devices come in');
    const rows = table.text.trimEnd().split('\r\n').map((row) => row.split(','));
    const { coefficients } = await ask(setting.plain, 'estimate');
    assert.deepEqual(rows[0], ['devices', ...coefficients.slice(0, -1).flatMap(({ name }) => [name, `${name} low`, `${name} high`])]);
    assert.equal(rows.at(-1)[0], String(DEVICES), 'what is projected is no data');
    assert.deepEqual(rows.at(-1).slice(1).map(Number), coefficients.slice(0, -1).flatMap(({ estimate, low, high, range }) => [estimate * range, low * range, high * range]));
    const picture = await saved(page, 'Save as SVG: Estimates as devices come in');
    assert.equal(picture.name, 'estimates-as-devices-come-in.svg');
    for (const { name } of coefficients.slice(0, -1)) assert.ok(picture.text.includes(`>${name}</text>`), name);
    assert.equal(picture.text.match(/<svg/g).length, 4);
    assert.doesNotMatch(picture.text, /class="|style="|var\(/);
    await closing(opened);
});

await test('the attacker’s curve is read by pointer and keys, and saved', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await ready(page);
    const curve = page.locator('.square svg');
    await curve.scrollIntoViewIfNeeded();
    await page.waitForSelector('.square svg .line[d]');
    const shown = () => page.$$eval('.square .cross:not([visibility]) .words text', (texts) => texts.map((text) => text.textContent));
    await curve.hover();
    assert.match((await shown()).join('|'), /^false alarms accepted: [0-9]+%\|.*caught {2}(at most|above) [0-9.]+%.*a coin {2}[0-9]+%/);
    const slider = page.getByRole('slider', { name: /What an attacker catches/ });
    await slider.focus();
    /* At its right end the box leaves the ends of both lines to be seen, and at 99 % it says no 100 %. */
    await page.keyboard.press('End');
    const [box, plot] = await page.$$eval('.square .cross .ground, .square .gain', (all) => all.map((one) => one.getBoundingClientRect().toJSON()).sort((a, b) => a.width - b.width));
    assert.ok(box.right < plot.right || box.top > plot.top + 4, 'the box hides the ends of lines');
    await page.keyboard.press('ArrowLeft');
    assert.match(await slider.getAttribute('aria-valuetext'), /caught above 99\.9%/);
    await page.keyboard.press('Home');
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    const caught = /catches ((?:at most|above) [0-9.]+%)/.exec(await page.textContent('#reading'))[1];
    assert.equal(await slider.getAttribute('aria-valuetext'), `false alarms accepted: 5%; caught ${caught}; a coin 5%`);
    const table = await saved(page, /Save as CSV: What an attacker/);
    assert.equal(table.text.trimEnd().split('\r\n').length, 102);
    assert.match((await saved(page, /Save as SVG: What an attacker/)).text, /people caught, at most/);
    await closing(opened);
});

await test('the guarantee: sentence, slider and keyboard', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await ready(page);
    const reading = () => page.locator('#reading').textContent();
    const before = await reading();
    assert.match(before, /5% false alarms catches above 99\.9%/);
    await page.locator('#distance').focus();
    await page.keyboard.press('Home');
    assert.match(await reading(), /catches at most 5%.*right at most 50% of the time/);
    await page.getByRole('button', { name: /any two people|promised/ }).first().click();
    assert.equal(await reading(), before);
    assert.match(await page.locator('.guarantee details').textContent(), /For the participant/);
    const shown = await page.$$eval('.guarantee details table tbody tr', (rows) => rows.map((row) => row.children.length));
    assert.ok(shown.length >= 2 && shown.every((cells) => cells === 4), `rows of ${shown} cells`);
    await closing(opened);
});

await test('refused, late and repeated reports are counted by reason', async () => {
    await fetch(`${setting.url}/v1/studies/${setting.plain}/reports`, { method: 'POST', body: 'nonsense',
        headers: { 'Content-Type': 'application/cbor' } });
    const opened = await open(at(setting.plain));
    await ready(opened.page);
    await opened.page.locator('.status summary').click();
    await opened.page.getByRole('row', { name: /Refused: not a report/ }).waitFor();
    assert.match(await opened.page.textContent('.status .line'), /· 1 report refused by the server$/);
    assert.match(await opened.page.getByRole('row', { name: /Accepted/ }).textContent(), /20,000/);
    await closing(opened);
});

await test('rounds: gradient and coefficients of each', async () => {
    const opened = await open(at(setting.rounds));
    await ready(opened.page);
    assert.equal(await opened.page.locator('#rounds tbody tr').count(), 3);
    const { rounds } = await ask(setting.rounds, 'history');
    assert.equal(rounds.length, 3);
    assert.equal(await opened.page.locator('[aria-label="Table of rounds"]').count(), 1);
    /* In the response's own unit, over a feature's whole range: that of the largest coefficient of the last round. */
    const { study } = await (await fetch(`${setting.url}/v1/studies/${setting.rounds}`)).json();
    const largest = Math.max(...rounds.at(-1).beta.map(Math.abs)) * (study.response.high - study.response.low);
    const cell = await opened.page.locator('#rounds tbody tr').last().locator('td').nth(2).textContent();
    assert.ok(Math.abs(Number(cell) - largest) < 1e-3 * largest, `${cell} for ${largest}`);
    assert.doesNotMatch(await opened.page.innerText('main'), /scaled|half ranges?/);
    assert.ok(!await opened.page.locator('.take-part').isVisible(), 'no one can take part in a study that is closed');
    assert.equal(await opened.page.textContent('.status .line'), '2,000 devices · closed after 3 rounds · 0 reports refused by the server');
    const tops = await opened.page.$$eval('.pair figure .plot', (all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
    assert.equal(tops[0], tops[1], 'charts begin at one height');
    assert.match(await opened.page.textContent('figcaption'), /From round 1 to round 3 it (fell|rose) from .*: it (came closer|moved away, noise won)\.$/);
    await screenshot(opened.page, 'rounds');
    await closing(opened);
});

await test('markup in names is text', async () => {
    const opened = await open(at(setting.markup));
    const { page } = opened;
    await ready(page);
    assert.equal(await page.locator('h1').textContent(), '<img src=x onerror=alert(1)> &amp; <b>bold</b>');
    assert.equal(await page.locator('main img, main script, main b').count(), 0);
    assert.equal(await page.locator('.terms tbody th').first().textContent(), '<script>alert(2)</script>');
    assert.equal(await page.getAttribute('h1', 'dir'), 'auto');
    await closing(opened);
    const list = await open(`${setting.url}/`);
    await list.page.getByRole('link', { name: '<img src=x' }).waitFor();
    await closing(list);
});

await test('fifty features are drawn and listed', async () => {
    const opened = await open(at(setting.fifty));
    await ready(opened.page);
    const { page } = opened;
    const { coefficients } = await ask(setting.fifty, 'estimate');
    const visible = coefficients.slice(0, -1).filter((row) => row.identified).length;
    assert.equal(await page.locator('#coefficients tr.known').count(), visible);
    assert.equal(await page.locator('#coefficients tr.unknown').count(), 50 - visible);
    assert.equal(await page.locator('#coefficients tr.unknown').first().isVisible(), false, 'what is hidden is folded');
    await page.getByRole('button', { name: /visible through the noise yet/ }).press('Enter');
    assert.equal(await page.locator('#coefficients tr.unknown').first().isVisible(), true);
    assert.equal(await page.locator('#coefficients tr.unknown data').count(), 0, 'and has no numbers');
    await screenshot(page, 'fifty');
    await closing(opened);
});

await test('p-values are seen on a phone, and fifty rows fit one', async () => {
    const { page } = await open('about:blank', { width: 360, height: 760 });
    await changed(page, '**/estimate', (estimate) => ({ ...estimate, coefficients: estimate.coefficients.map((row, i) => (
        { ...row, identified: true, estimate: Math.sin(i), standard_error: 0.1, low: Math.sin(i) - 0.2, high: Math.sin(i) + 0.2, p: 0.04 })) }));
    await page.goto(at(setting.fifty));
    await ready(page);
    assert.equal(await page.locator('#coefficients tr.known').count(), 50);
    assert.match(await page.locator('#coefficients tr.known').first().innerText(), /s\.e\. [0-9.]+\s+p 0\.0400/);
    assert.equal(await overflows(page), false);
    const outside = await page.$$eval('#coefficients tr.known :is(th, td)', (all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    assert.equal(outside, 0);
    await page.close();
});

for (const [name, path] of [['list', '/'], ['study', `/studies/${setting.plain}`], ['rounds', `/studies/${setting.rounds}`], ['fifty', `/studies/${setting.fifty}`]]) {
    for (const scheme of ['light', 'dark']) {
        await test(`${name}, ${scheme}: accessible, and no wider than a phone of 360 pixels`, async () => {
            const opened = await open(setting.url + path, { width: 360, height: 760, scheme });
            await opened.page.waitForSelector(name === 'list' ? '.study' : 'main[aria-busy=false] .answers3 .lead:not(:empty)');
            assert.deepEqual(await accessibilityFindings(opened.page), []);
            assert.equal(await overflows(opened.page), false);
            await screenshot(opened.page, `${name}-360-${scheme}`);
            await opened.page.setViewportSize({ width: 1100, height: 900 });
            assert.deepEqual(await accessibilityFindings(opened.page), []);
            if (scheme === 'dark') await screenshot(opened.page, `${name}-dark`);
            await closing(opened);
        });
    }
}

await test('dark or light: as the system wants, until the reader says otherwise', async () => {
    const opened = await open(at(setting.plain), { scheme: 'dark' });
    const { page } = opened;
    await ready(page);
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    assert.equal(await page.textContent('#theme'), 'Switch to light');
    await page.locator('#theme').press('Enter');
    assert.notEqual(await ground(), dark);
    assert.equal(await page.textContent('#theme'), 'Switch to dark');
    await page.reload();
    assert.notEqual(await ground(), dark);
    assert.equal(await page.textContent('#theme'), 'Switch to dark');
    await page.locator('#theme').press('Enter');
    assert.equal(await ground(), dark);
    await page.evaluate(() => localStorage.clear());
    await closing(opened);
});

await test('nothing glides for a reader who wants no motion', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await page.waitForSelector('#coefficients .known');
    const glide = () => page.$eval('.interval', (node) => getComputedStyle(node).transitionDuration);
    assert.notEqual(await glide(), '0s');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    assert.equal(await glide(), '0s');
    await closing(opened);
});

await test('every control is reached by the keyboard', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await ready(page);
    const reached = new Set();
    for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab');
        reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName));
    }
    for (const one of ['skip', 'brand', 'theme', 'distance', 'chip', 'SUMMARY']) assert.ok(reached.has(one), `${one} was not reached`);
    await closing(opened);
});

await test('until there is something to show a skeleton stands, and then nothing jumps', async () => {
    for (const [width, id] of [[1100, setting.plain], [360, setting.plain], [360, setting.fifty]]) {
        const page = await browser.context.newPage();
        await page.setViewportSize({ width, height: 800 });
        let letGo;
        const waits = new Promise((resolve) => { letGo = resolve; });
        await page.route('**/v1/**', async (route) => { await waits; await route.continue(); });
        await page.goto(at(id), { waitUntil: 'commit' });
        await page.locator('#skeleton').waitFor();
        assert.equal(await page.locator('main > .caution, .answers3 .lead').count(), 0, 'nothing is claimed in that time');
        letGo();
        await ready(page);
        await page.unroute('**/v1/**');
        assert.equal(await page.locator('#skeleton').count(), 0);
        await page.waitForTimeout(2000); /* a refresh or two */
        const shift = await layoutShift(page);
        assert.ok(shift < 0.05, `it jumped by ${shift}`);
        await page.close();
    }
});

await test('a first visit takes at most 60 kB', async () => {
    const fresh = await openBrowser();
    const { page } = await openPage(fresh, at(setting.plain));
    await ready(page);
    const bytes = await bytesTaken(page);
    await fresh.close();
    assert.ok(bytes > 20000 && bytes <= 60000, `${bytes} bytes`);
});

await test('a server that is away from the start is said, and the page comes by itself', async () => {
    const { page } = await open('about:blank');
    await page.route('**/v1/**', (route) => route.abort());
    await page.goto(at(setting.plain));
    await page.getByText('This study cannot be shown yet: the server cannot be reached').waitFor();
    await page.unroute('**/v1/**');
    await ready(page);
    assert.equal(await page.locator('main > .caution').count(), 0);
    await page.close();
});

await test('the list has bones until it is there, and says why it is not', async () => {
    const { page } = await open('about:blank');
    await page.route('**/v1/**', (route) => route.abort());
    await page.goto(`${setting.url}/`);
    await page.getByText('The list cannot be shown yet: the server cannot be reached').waitFor();
    assert.equal(await page.locator('.bones tr').count(), 6);
    assert.equal(await page.getByRole('row').count(), 1, 'which is not announced');
    assert.equal(await page.getByRole('button', { name: 'Next' }).count(), 0);
    assert.deepEqual(await accessibilityFindings(page), []);
    await page.unroute('**/v1/**');
    await page.waitForSelector('.study');
    assert.equal(await page.locator('main > .caution, .bones').count(), 0);
    await page.close();
});

await test('an empty server says which commands make a study', async () => {
    for (const [width, scheme] of [[1100, 'light'], [360, 'dark']]) {
        const { page } = await open('about:blank', { width, scheme });
        await changed(page, '**/v1/studies?*', (answer) => ({ ...answer, studies: [], total: 0, matching: 0 }));
        await page.goto(`${setting.url}/`);
        await page.getByText('There is no study on this server yet').waitFor();
        assert.match(await page.textContent('.empty code'), /^tremolo study init > study\.json\ntremolo study publish study\.json http/);
        assert.deepEqual(await accessibilityFindings(page), []);
        assert.equal(await overflows(page), false);
        await screenshot(page, `empty-${scheme}`);
        await page.close();
    }
});

await test('without scripts the page says so and shows no skeleton', async () => {
    const plain = await openBrowser({ javaScriptEnabled: false });
    const page = await plain.context.newPage();
    await page.goto(at(setting.plain));
    assert.equal(await page.locator('#skeleton').isVisible(), false);
    assert.match(await page.locator('main').innerText(), /needs JavaScript/);
    await plain.close();
});

await test('by touch: units are switched, and what is hidden is opened', async () => {
    const phone = await openBrowser({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
    const { page, faults } = await openPage(phone, at(setting.plain), { width: 390, height: 844 });
    await ready(page);
    await page.locator('.switch label').last().tap();
    assert.match(await page.textContent('#coefficients caption'), /one more unit/);
    await page.locator('.status summary').tap();
    assert.equal(await page.locator('.outcomes').isVisible(), true);
    assert.equal(await overflows(page), false);
    assert.deepEqual(faults, []);
    await phone.close();
});

await test('a server that goes away is said, and nothing is lost', async () => {
    const opened = await open(at(setting.plain));
    const { page } = opened;
    await ready(page);
    await page.route('**/v1/**', (route) => route.abort());
    await page.getByText('Not up to date: the server cannot be reached').waitFor();
    assert.equal(await page.locator('#coefficients .known').count(), 3);
    await page.unroute('**/v1/**');
    await page.waitForFunction(() => document.getElementById('connection').textContent === '');
    await page.close();
});

await test('a printed page is light, and complete', async () => {
    const opened = await open(at(setting.plain), { scheme: 'dark' });
    await ready(opened.page);
    await opened.page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    assert.equal(await opened.page.evaluate(() => getComputedStyle(document.querySelector('h1')).color), 'rgb(28, 33, 38)');
    assert.equal(await opened.page.locator('.theme').isVisible(), false);
    await closing(opened);
});

await browser.close();
