/* web.mjs -- first paint of a page, and what a refresh costs the browser.
 *
 *   node web.mjs URL NAME
 *
 * The middle of five visits with an empty cache; then the browser's own clocks
 * over some seconds of refreshing a page with full charts. */
import { openBrowser, openPage } from '../tests/web/browser.mjs';

const [url, name] = process.argv.slice(2);
const VISITS = 5;
const WATCHED_MS = 12000;
const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function visit() {
    const browser = await openBrowser();
    const { page } = await openPage(browser, url);
    await page.waitForSelector('.rows .row');
    const times = await page.evaluate(() => ({
        paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
        numbers: performance.now(),
    }));
    await browser.close();
    return times;
}

async function clocks(session) {
    const { metrics } = await session.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map((one) => [one.name, one.value]));
}

async function refreshing() {
    const browser = await openBrowser();
    const { page } = await openPage(browser, url);
    await page.waitForSelector('.rows .row');
    const session = await browser.context.newCDPSession(page);
    await session.send('Performance.enable');
    let refreshes = 0;
    page.on('response', (response) => { if (response.url().endsWith('/history')) refreshes += 1; });
    const before = await clocks(session);
    await page.waitForTimeout(WATCHED_MS);
    const after = await clocks(session);
    await browser.close();
    const each = (clock) => (1000 * (after[clock] - before[clock]) / refreshes).toFixed(1);
    return { script: each('ScriptDuration'), all: each('TaskDuration') };
}

const visits = [];
for (let i = 0; i < VISITS; i++) visits.push(await visit());
const cost = await refreshing();
console.log(`${name}: first paint ${middle(visits.map((one) => one.paint)).toFixed(0)} ms, `
    + `numbers drawn ${middle(visits.map((one) => one.numbers)).toFixed(0)} ms; `
    + `a refresh takes ${cost.script} ms of script, ${cost.all} ms of the page in all`);
