/* web.mjs -- first paint of a page, what a refresh costs the browser, and how long a phone would be blocked.
 *
 *   node web.mjs URL NAME
 *
 * The middle of five visits with an empty cache; then the browser's own clocks over some seconds of
 * refreshing a page with full charts. Blocking time is counted as Lighthouse does for a phone, the part beyond
 * 50 ms of every task at a fourth of the speed, but from the thread's own time, which others on this machine
 * do not change. */
import { openBrowser, openPage } from '../tests/web/browser.mjs';

const [url, name] = process.argv.slice(2);
const VISITS = 5;
const WATCHED_MS = 12000;
const WATCHED_LOADING_MS = 4000;
const SLOWER = 4;
const LONG_MS = 50;
const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function visit() {
    const browser = await openBrowser();
    const { page } = await openPage(browser, url);
    await page.waitForSelector('#coefficients tr', { state: 'attached' });
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
    await page.waitForSelector('#coefficients tr', { state: 'attached' });
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

/* Tasks of the page's main thread since it began to load; those within a task are parts of it. */
function tasksOf(events) {
    const starts = events.filter((one) => one.name === 'navigationStart');
    /* A trace may lack the event of the page itself; from the empty one before it on is a little more, never less. */
    const begin = starts.findLast((one) => one.args.data?.documentLoaderURL?.startsWith('http')) ?? starts.at(-1);
    const thread = events.find((one) => one.name === 'thread_name' && one.pid === begin.pid && one.args.name === 'CrRendererMain').tid;
    let end = begin.ts;
    return events.filter((one) => one.pid === begin.pid && one.tid === thread && one.ph === 'X' && one.name.endsWith('RunTask'))
        .sort((a, b) => a.ts - b.ts || b.dur - a.dur)
        .filter((one) => one.ts >= end && (end = one.ts + one.dur));
}

async function blocking() {
    const browser = await openBrowser({ isMobile: true, hasTouch: true });
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 412, height: 823 });
    const chromium = browser.context.browser();
    await chromium.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', '__metadata'] });
    await page.goto(url);
    await page.waitForTimeout(WATCHED_LOADING_MS);
    const { traceEvents } = JSON.parse(await chromium.stopTracing());
    await browser.close();
    const times = tasksOf(traceEvents).map((one) => SLOWER * (one.tdur ?? one.dur) / 1000);
    return times.reduce((sum, ms) => sum + Math.max(0, ms - LONG_MS), 0);
}

const visits = [];
const blocked = [];
for (let i = 0; i < VISITS; i++) blocked.push(await blocking());
console.log(`${name}: a phone is blocked for ${middle(blocked).toFixed(0)} ms`);
if (!/[/]studies[/][^/]+$/.test(url)) process.exit(0); /* others do not refresh, or have no numbers to wait for */
for (let i = 0; i < VISITS; i++) visits.push(await visit());
const cost = await refreshing();
console.log(`${name}: first paint ${middle(visits.map((one) => one.paint)).toFixed(0)} ms, `
    + `numbers drawn ${middle(visits.map((one) => one.numbers)).toFixed(0)} ms; `
    + `a refresh takes ${cost.script} ms of script, ${cost.all} ms of the page in all`);
