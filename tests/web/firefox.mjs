/* firefox.mjs -- the pages in Firefox, by keyboard alone and by touch.
 *
 *   node firefox.mjs SETTING    SETTING: {url, learnt, ballot} */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFirefox } from './marionette.mjs';
import { test } from './tap.mjs';

const setting = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ask = async (id, what) => (await fetch(`${setting.url}/v1/studies/${id}/${what}`)).json();
const browser = await openFirefox();
const TAB = '\uE004';
const SPACE = ' ';
const ENTER = '\uE007';
const RIGHT = '\uE014';
const picture = (name) => browser.screenshot(join(process.env.SCREENSHOTS, `${name}-firefox.png`));
const overflows = () => browser.run('return document.documentElement.scrollWidth > document.documentElement.clientWidth;');

/* Tab until the focus is there; it must come within so many steps. */
async function tabTo(selector, most = 60) {
    for (let i = 0; i < most; i++) {
        await browser.press(TAB);
        if (await browser.run('return document.activeElement.matches(arguments[0]);', selector)) return;
    }
    assert.fail(`the keyboard did not reach ${selector}`);
}

await test('Firefox: a study’s page has its three answers and its results', async () => {
    await browser.goto(`${setting.url}/studies/${setting.learnt}`);
    await browser.until('return document.querySelector(".answers3 .lead")?.textContent;', 'the answers');
    const shown = await browser.run('return document.querySelector(".answers3").textContent;');
    assert.match(shown, /goe?s? with (a )?(higher|lower)/);
    assert.match(shown, /Protection: /);
    const { coefficients } = await ask(setting.learnt, 'estimate');
    const told = coefficients.slice(0, -1).filter((row) => row.low > 0 || row.high < 0).length;
    assert.equal(await browser.run('return document.querySelector(".answer .amount").textContent;'), `${told} of 3 effects are significant`);
    const values = await browser.run('return [...document.querySelectorAll("#coefficients .known data.estimate")].map((one) => Number(one.value));');
    assert.deepEqual(values, coefficients.slice(0, -1).map((row) => row.estimate * row.range));
    const [top, bar] = await browser.run('return ["#coefficients .known .interval", "#coefficients .known .middle"].map((one) => document.querySelector(one).getBoundingClientRect().width);');
    assert.ok(top > 0 && bar > 0, 'intervals are not drawn');
    assert.equal(await browser.run('return document.querySelector(".answer .pips").textContent;'), '●'.repeat(told) + '○'.repeat(3 - told));
    await browser.until('return document.querySelectorAll(".multiples .axis-label").length === 3;', 'the charts');
    const tops = await browser.run('return [...document.querySelectorAll(".multiples svg")].map((one) => Math.round(one.getBoundingClientRect().top));');
    assert.equal(new Set(tops).size, 1, 'charts of a row begin at one height');
    await picture('study');
});

await test('Firefox: by keyboard alone, the switch of units and the status line', async () => {
    await tabTo('.status summary');
    await browser.press(ENTER);
    assert.equal(await browser.run('return document.querySelector(".status").open;'), true);
    await tabTo('.switch input');
    await browser.press(RIGHT);
    assert.match(await browser.run('return document.querySelector("#coefficients caption").textContent;'), /one more unit/);
});

await test('Firefox: a phone’s width, by touch', async () => {
    await browser.resize(450, 844); /* Firefox’s windows are at least this wide */
    await browser.goto(`${setting.url}/studies/${setting.learnt}`);
    await browser.until('return document.querySelector(".answers3 .lead")?.textContent;', 'the answers');
    assert.equal(await overflows(), false);
    await browser.touch('.switch label:last-child');
    await browser.until('return /one more unit/.test(document.querySelector("#coefficients caption").textContent);', 'the other unit');
    await browser.touch('.status summary');
    await browser.until('return document.querySelector(".status").open;', 'the open line');
    await picture('study-450');
});

await test('Firefox: taking part, by keyboard alone', async () => {
    await browser.resize(1100, 900);
    const before = (await ask(setting.ballot, 'estimate')).reports;
    await browser.goto(`${setting.url}/studies/${setting.ballot}/about`);
    await browser.until('return document.querySelector("form.answers");', 'the form');
    for (let i = 0; i < 4; i++) {
        await tabTo(`#answer-${i}`);
        await browser.press('5', '0');
    }
    await browser.until('return document.querySelector(".preview.drawn dl")?.checkVisibility();', 'the preview');
    assert.match(await browser.run('return document.querySelector(".preview").textContent;'), /The question.*The reply.*of 100 cases such a reply is a pattern that does not fit/);
    await tabTo('#consent');
    await browser.press(SPACE);
    await tabTo('.go');
    await browser.press(ENTER);
    await browser.until('return /accepted/.test(document.querySelector(".outcome").textContent);', 'the thanks').catch(async () => {
        assert.fail(await browser.run('return `“${document.querySelector(".outcome").textContent}” after ${document.activeElement.outerHTML.slice(0, 80)}`;'));
    });
    assert.equal((await ask(setting.ballot, 'estimate')).reports, before + 1);
    assert.equal(await browser.run('return document.querySelector(".sent").open;'), false);
    await picture('participant');
});

await browser.close();
