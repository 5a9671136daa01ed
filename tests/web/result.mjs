/* result.mjs -- results that were saved as one file, opened from the disk.
 *
 *   node result.mjs SETTING    SETTING: {pages: [{name, html, json, charts}], readable}
 *
 * `json` is the same result as a document; `readable` is one of the pages. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { accessibilityFindings, openBrowser, overflows, screenshot } from './browser.mjs';
import { test } from './tap.mjs';

const setting = JSON.parse(readFileSync(process.argv[2], 'utf8'));

/* A page from the disk; every request but the one for itself is a fault. */
async function open(browser, path, { scheme = 'light', width = 1000, scripts = true } = {}) {
    const page = await browser.context.newPage();
    const faults = [];
    const address = `file://${path}`;
    page.on('console', (message) => faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('dialog', (dialog) => { faults.push('a dialog'); dialog.dismiss(); });
    page.on('request', (request) => { if (request.url() !== address) faults.push(`request to ${request.url()}`); });
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(address);
    if (scripts) await page.waitForSelector('svg.chart');
    return { page, faults };
}

const reading = await openBrowser();

async function withPage(path, options, body) {
    const opened = await open(reading, path, options);
    try {
        await body(opened);
    } finally {
        await opened.page.close();
    }
}

async function withBrowser(options, body) {
    const browser = await openBrowser(options);
    try {
        await body(browser);
    } finally {
        await browser.close();
    }
}

const cellsOf = (table) => table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
const card = (page, title) => page.locator('section.card', { has: page.locator('h2', { hasText: title }) });
const read = (text) => Number(text.replaceAll('−', '-').replaceAll(',', ''));
const isNear = (text, value) => (value === null ? text === '–' : Math.abs(read(text) - value) <= 0.0006 * Math.abs(value) + 1e-12);

/* A line for each series of a figure, and a table of the same numbers. */
async function figuresAreWhole(page, figures) {
    for (const { title, series } of figures) {
        const place = card(page, title);
        assert.equal(await place.locator('path.line').count(), series.length);
        const rows = await cellsOf(place.locator('details table'));
        assert.equal(rows.length, series[0].points.length);
        rows.forEach((cells, i) => [series[0].points[i][0], ...series.map(({ points }) => points[i][1])].forEach((value, k) => assert.ok(isNear(cells[k], value), `${cells[k]} ${value}`)));
    }
}

const dataOf = (rows) => rows.map((row) => ({
    name: row.querySelector('th').textContent.trim(),
    ...Object.fromEntries([...row.querySelectorAll('data')].map((node) => [node.className, Number(node.value)])),
}));

/* The three answers come first, and the panel has the document's numbers, per unit. */
async function answersAndPanel(page, result) {
    assert.deepEqual(await page.$$eval('main > .answers3 .answer h2', (all) => all.map((one) => one.textContent)), ['Learnt', 'Certain', 'Private']);
    assert.equal(await page.$eval('main > .answers3', (node) => node.previousElementSibling.className), 'head');
    const known = result.coefficients.slice(0, -1).filter((row) => row.identified);
    const choice = page.getByLabel('per unit');
    if (await choice.isVisible()) await choice.check();
    const shown = await page.$$eval('#coefficients tbody tr.known', dataOf);
    const numbers = ({ estimate, standard_error: error, low, high, p }) => [estimate, error, low, high, p];
    assert.deepEqual(shown.map(numbers), known.map(numbers));
    const predicted = await cellsOf(card(page, 'Prediction').locator('table'));
    assert.deepEqual(predicted.map(([name]) => name), result.coefficients.map(({ name }) => name));
    predicted.forEach(([, text], i) => assert.ok(isNear(text, result.prediction.coefficients[i].estimate)));
    assert.ok(isNear((await cellsOf(card(page, 'Diagnostics').locator('table')))[0][1].split(', ')[0], result.diagnostics.residual_sd));
}

/* Private beside raw, coefficient by coefficient and rounded to the error's second digit; R^2 before them and before all else. */
async function rawIsBeside(page, { coefficients, simulation }) {
    assert.equal(await page.$eval('main > section', (node) => node.querySelector('h2').textContent), 'Private beside raw');
    const place = card(page, 'Private beside raw');
    const amounts = await place.locator('.amount').allTextContents();
    [simulation.r2.mean, simulation.r2_ols].forEach((value, i) => assert.ok(Math.abs(read(amounts[i]) - value) <= 0.002 * value, `${amounts[i]} ${value}`));
    const rows = await cellsOf(place.locator('table'));
    assert.deepEqual(rows.map(([name]) => name), coefficients.map(({ name }) => name));
    coefficients.forEach(({ identified, estimate, standard_error: error, low, high }, i) => {
        if (!identified) return;
        const [, own, interval, raw] = rows[i];
        [[own, estimate], ...interval.split(' to ').map((end, k) => [end, [low, high][k]]), [raw, simulation.ols[i].estimate]].forEach(([text, value]) => {
            assert.ok(Math.abs(read(text) - value) <= 0.06 * error, `${text} ${value}`);
            assert.equal((text.split('.')[1] ?? '').length, Math.max(0, 1 - Math.floor(Math.log10(error))), text);
        });
    });
}

/* An answer that brings a guarantee has the gauge, with the guarantee's own numbers. */
async function gaugeIsDrawn(page, { answers }) {
    const place = page.locator('.answers3 .answer').last();
    const { guarantee, text } = answers.at(-1);
    assert.equal(await place.locator('svg.gauge').count(), 1);
    assert.match(await place.locator('.legend').textContent(), new RegExp(`people alike: ${Math.ceil(guarantee.attacker_right * 1000 - 1e-9) / 10}%any two: `));
    assert.equal(await place.locator('.protection + .facts').textContent(), text.replace(/-(?=\d)/g, '−'));
}

for (const { name, html, json, charts } of setting.pages) {
    await test(`${name}: opens from the disk without a request or an error`, () => withPage(html, {}, async ({ page, faults }) => {
        const result = JSON.parse(readFileSync(json, 'utf8'));
        assert.equal(await page.textContent('h1'), result.title);
        assert.equal(await page.locator('svg.chart').count(), charts);
        if (result.coefficients) await answersAndPanel(page, result);
        if (result.simulation) await rawIsBeside(page, result);
        if (result.figures) await figuresAreWhole(page, result.figures);
        if (result.answers?.at(-1).guarantee) await gaugeIsDrawn(page, result);
        assert.doesNotMatch(await page.textContent('main'), /half ranges of the feature|Distance/);
        if (result.guarantee) {
            assert.match(await page.textContent('#reading'), new RegExp(`ε ${result.guarantee.epsilon.toPrecision(2).replace(/\.0$/, '')}`));
        }
        const carried = JSON.parse(await page.textContent('#document'));
        delete carried.made;
        delete result.made;
        for (const one of [carried, result]) delete one.simulation?.seconds;
        assert.deepEqual(carried, result);
        assert.equal(await page.locator('main b, main script, main img').count(), 0);
        await screenshot(page, `result-${name}`);
        assert.deepEqual(faults, []);
    }));
}

/* Boxes of texts that must not lie on each other. */
const collisions = (page, places) => page.$$eval(places, (texts) => {
    const boxes = texts.map((text) => text.getBoundingClientRect());
    return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right && b.left < a.right
        && a.top + 2 < b.bottom && b.top + 2 < a.bottom)).length;
});
const lines = setting.pages.find((one) => one.name === 'reproduce').html;

for (const width of [360, 1000, 2200]) {
    await test(`lines ${width} pixels wide: named, told apart, titled, nothing collides`, () => withPage(lines, { width }, async ({ page }) => {
        const result = JSON.parse(await page.textContent('#document'));
        const [figure] = result.figures;
        const names = await page.$$eval('.names text, .legend text', (texts) => texts.map((text) => text.textContent).sort());
        assert.deepEqual(names, figure.series.map((one) => one.title).sort());
        assert.equal(await collisions(page, '.names text, .legend text, .side-label'), 0);
        assert.equal(await collisions(page, '.axis .tick text'), 0);
        assert.equal(await page.locator('svg.lines .axis-label').textContent(), figure.x);
        assert.equal(await page.locator('svg.lines .side-label').textContent(), figure.y);
        const looks = await page.$$eval('.series .line', (all) => all.map((one) => {
            const { stroke, strokeDasharray } = getComputedStyle(one);
            return [stroke, strokeDasharray];
        }));
        for (const which of [0, 1]) assert.equal(new Set(looks.map((look) => look[which])).size, figure.series.length);
        assert.equal(await page.locator('.series .band[d]').count(), figure.series.length);
        const outside = await page.$eval('svg.lines', (svg) => [...svg.querySelectorAll('text')].filter((text) => {
            const box = text.getBoundingClientRect();
            const frame = svg.getBoundingClientRect();
            return text.textContent !== '' && (box.left < frame.left - 1 || box.right > frame.right + 1);
        }).map((text) => text.textContent));
        assert.deepEqual(outside, []);
    }));
}

await test('the attacker’s curve has room for letters of any size', async () => {
    for (const width of [360, 1000, 2200]) {
        await withPage(setting.readable.html, { width }, async ({ page }) => {
            await page.waitForSelector('#tradeoff svg .axis-label');
            await page.evaluate(() => { document.documentElement.style.fontSize = '24px'; });
            await page.setViewportSize({ width: width - 10, height: 900 });
            await page.locator('#tradeoff').scrollIntoViewIfNeeded();
            await page.waitForTimeout(300);
            assert.equal(await collisions(page, '#tradeoff :is(.side .tick, .axis .tick:not(:first-of-type)) text, #tradeoff .axis-label, #tradeoff .caught-label'), 0);
        });
    }
});

await test('values are read by pointer, by touch and by arrow keys', () => withPage(lines, {}, async ({ page }) => {
    const [figure] = JSON.parse(await page.textContent('#document')).figures;
    const slider = page.getByRole('slider', { name: /ModeChoice/ });
    const shown = () => page.$$eval('.cross:not([visibility]) .words text', (texts) => texts.map((text) => text.textContent));
    assert.deepEqual(await shown(), []);
    await page.locator('svg.lines').scrollIntoViewIfNeeded();
    const box = await page.locator('svg.lines').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    assert.equal((await shown()).length, 1 + figure.series.length);
    await page.mouse.move(2, 2);
    assert.deepEqual(await shown(), []);
    await slider.focus();
    await page.keyboard.press('Home');
    const [x, y, low, high] = figure.series[0].points[0];
    const said = await slider.getAttribute('aria-valuetext');
    const read = (value) => Number(value.replace('−', '-'));
    const number = '(−?[0-9.e−]+)';
    assert.ok(said.startsWith(`${figure.x}: ${x}`), said);
    const told = new RegExp(`${figure.series[0].title} ${number} \\(${number} to ${number}\\)`).exec(said);
    [y, low, high].forEach((value, i) => assert.ok(Math.abs(read(told[i + 1]) - value) <= 0.005 * Math.abs(value) + 1e-9, said));
    assert.ok((await shown()).some((text) => text.startsWith(figure.series[0].title)));
    await page.keyboard.press('ArrowRight');
    assert.ok((await slider.getAttribute('aria-valuetext')).startsWith(`${figure.x}: ${figure.series[0].points[1][0]}`));
    await page.evaluate(() => document.activeElement.blur());
    assert.deepEqual(await shown(), []);
    await page.locator('svg.lines').dispatchEvent('pointerdown', { clientX: box.x + 200, clientY: box.y + 100, pointerType: 'touch' });
    assert.equal((await shown()).length > 1, true);
}));

await test('a chart is saved as a picture and as a table', () => withPage(lines, {}, async ({ page, faults }) => {
    const [figure] = JSON.parse(await page.textContent('#document')).figures;
    const saved = async (name) => {
        const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
        return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
    };
    const table = await saved(/CSV/);
    assert.equal(table.name, 'modechoice.csv');
    const rows = table.text.trimEnd().split('\r\n').map((row) => row.split(','));
    assert.equal(rows[0].length, 1 + 3 * figure.series.length);
    assert.equal(rows.length, 1 + figure.series[0].points.length);
    figure.series.filter((one) => one.points.every(([, y]) => y >= figure.floor)).forEach((one) => {
        const column = rows[0].indexOf(one.title);
        assert.deepEqual(rows.slice(1).map((row) => Number(row[column])), one.points.map(([, y]) => y));
    });
    const picture = await saved(/SVG/);
    assert.equal(picture.name, 'modechoice.svg');
    assert.match(picture.text, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.doesNotMatch(picture.text, /var\(|class=/);
    for (const one of figure.series) assert.ok(picture.text.includes(one.title), one.title);
    assert.deepEqual(faults.filter((fault) => !fault.startsWith('request to blob:')), []);
}));

await test('without JavaScript and on paper there is the text', () => withBrowser({ javaScriptEnabled: false }, async (browser) => {
    const { page } = await open(browser, setting.readable.html, { scripts: false });
    const result = JSON.parse(readFileSync(setting.readable.json, 'utf8'));
    const text = await page.innerText('#text');
    assert.ok(text.startsWith(result.title));
    for (const { name } of result.coefficients) assert.ok(text.includes(`\n${name} `), name);
    for (const part of ['For the reviewer:', 'For the participant:', 'Variance inflation:', 'attacker right ']) assert.ok(text.includes(part), part);
}));

await test('repeats are counted in whole numbers', () => withPage(setting.readable.html, {}, async ({ page }) => {
    await page.waitForSelector('svg.lines:not(#tradeoff *) .axis .tick text', { state: 'attached' }); /* drawn when there is time */
    const ticks = await page.$$eval('svg.lines:not(#tradeoff *) .axis .tick text', (all) => all.map((one) => one.textContent));
    assert.deepEqual(ticks, ['1', '2', '3', '4']);
}));

for (const scheme of ['light', 'dark']) {
    await test(`no serious accessibility findings, ${scheme}`, () => withPage(setting.readable.html, { scheme }, async ({ page }) => {
        await screenshot(page, `result-${scheme}`);
        assert.deepEqual(await accessibilityFindings(page), []);
    }));
}

await test('a phone 360 pixels wide needs no sideways scrolling', () => withPage(setting.readable.html, { width: 360 }, async ({ page }) => {
    assert.equal(await overflows(page), false);
    await screenshot(page, 'result-360');
}));

await test('printed it is light and has everything', () => withPage(setting.readable.html, { scheme: 'dark' }, async ({ page }) => {
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).color), 'rgb(28, 33, 38)');
    assert.ok((await page.pdf()).length > 10000);
    assert.match(await page.locator('footer.printed').innerText(), /^tremolo [0-9.]+, [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z/);
    /* On every page, and on none of its words: browsers repeat the foot of a table that may not be broken. */
    assert.deepEqual(await page.locator('footer.printed').evaluate((node) => [getComputedStyle(node).display, getComputedStyle(node).breakInside, getComputedStyle(node.parentNode).display]),
        ['table-footer-group', 'avoid', 'table']);
    assert.equal(await overflows(page), false);
    assert.equal(await page.locator('#text').isVisible(), true);
}));

await reading.close();
