/* browser.mjs -- a real Chromium ($BROWSER), fresh each time, and pages that are watched.
 *
 * Every page notes what it must not do: errors on the console or in scripts,
 * policy violations, and requests to any other host. */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const require = createRequire(resolve(process.env.NPM_HOME, 'package.json'));
const { chromium } = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/* Tests wait for conditions; this only bounds a failure, on a machine that may
 * be busy with everything else. */
export const PATIENCE_MS = 90000;

let chromiumRuns = null;
let opened = 0;

/** A browser of our own: cookies, cache and databases that no other sees. `close` ends it. Those
 * that are open at once share a process, as starting one takes longer than most tests. */
export async function openBrowser(options = {}) {
    opened++;
    chromiumRuns ??= chromium.launch({ executablePath: process.env.BROWSER, headless: true, args: FLAGS, timeout: PATIENCE_MS });
    const context = await (await chromiumRuns).newContext(options);
    context.setDefaultTimeout(PATIENCE_MS);
    return {
        context,
        async close() {
            await context.close();
            if (--opened > 0) return;
            const last = await chromiumRuns;
            chromiumRuns = null;
            await last.close();
        },
    };
}

/** A page at a URL, with the list of what went wrong on it. */
export async function openPage(browser, url, { width = 1100, height = 900, scheme = 'light' } = {}) {
    const page = await browser.context.newPage();
    const faults = [];
    const host = new URL(url).host;
    page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('dialog', (dialog) => { faults.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => {
        const asked = new URL(request.url());
        if (asked.protocol !== 'data:' && asked.host !== host) faults.push(`request to ${asked.host}`);
    });
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(url);
    return { page, faults };
}

/** All findings of axe-core, as sentences. */
export async function accessibilityFindings(page) {
    /* Through the debugger, as the page's policy rightly forbids injected scripts. */
    await page.evaluate(axeSource);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    return found.violations
        .map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).slice(0, 3).join('; ')}`);
}

export function screenshot(page, name) {
    return page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

/** Does the page need a horizontal scroll bar? */
export function overflows(page) {
    return page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
}

/** How much the page jumped so far, as browsers count it (cumulative layout shift). */
export function layoutShift(page) {
    return page.evaluate(() => new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => resolve(sum), 200);
    }));
}

/** Bytes that travelled for a first visit, heads included. */
export function bytesTaken(page) {
    return page.evaluate(() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .reduce((sum, entry) => sum + entry.transferSize, 0));
}
