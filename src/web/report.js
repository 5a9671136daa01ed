/* report.js -- answers, results and charts of a result that was saved as one file.
 *
 * They are the study page's own parts, made from the document that the page
 * carries. The tables are in the page already. */
import { answers } from './study/answers.js';
import { decimalsOf } from './common/format.js';
import { lineChart } from './chart/lines.js';
import { caught, caughtBallot } from './common/gaussian.js';
import { gauge } from './study/gauge.js';
import { resultsPanel, setAligned } from './study/results.js';
import { tradeoffChart } from './chart/tradeoff.js';

const result = JSON.parse(document.getElementById('document').textContent);

function drawFigure(place) {
    const figure = result.figures[Number(place.dataset.figure)];
    const { floor = -Infinity } = figure;
    lineChart(place, `${figure.title}; the numbers are below`, 340).update({
        series: figure.series.map((one) => ({
            name: one.title ?? one.name,
            reference: one.reference,
            points: one.points.map(([x, y, low = null, high = null]) => (y !== null && y >= floor
                ? { x, y, low: low === null ? null : Math.max(low, floor), high } : { x, y: null })),
        })),
        x: figure.x,
        y: figure.y,
        include: figure.include,
        dots: figure.dots,
        whole: figure.series.every((one) => one.points.every(([x]) => Number.isInteger(x))),
    });
}

/* A part of the study's page in place of what is there for those without scripts. */
function replace(place, part) {
    part.update(result);
    place.replaceWith(part.node);
}

/* An answer of other documents may bring a guarantee: the picture stands before its words. */
function drawGauge(place, { guarantee }) {
    if (!guarantee) return;
    const drawn = gauge();
    drawn.update(guarantee);
    const words = place.querySelector('.lead');
    words.className = 'facts';
    words.before(drawn.node);
}

/* Private beside raw: both to the error's second digit, as in the panel. Where noise hides the one
 * the other has three digits. */
function alignBeside(table) {
    const rows = [...table.querySelectorAll('tbody tr')].map((row, i) => ({
        nodes: [...row.querySelectorAll(result.coefficients[i].identified ? 'data' : '.raw')],
        error: result.coefficients[i].standard_error ?? Math.abs(result.simulation.ols[i].estimate) / 10,
    }));
    const decimals = Math.min(8, Math.max(0, ...rows.map(({ error }) => decimalsOf(error))));
    rows.forEach(({ nodes, error }) => nodes.forEach((node) => setAligned(node, Number(node.value), error, decimals)));
    const widest = Math.max(...[...table.querySelectorAll('.low[data-key], .high[data-key]')].map((node) => node.textContent.length), 0);
    table.style.setProperty('--end', `${widest}ch`);
}

const answersPlace = document.getElementById('answers');
if (answersPlace) replace(answersPlace, answers());
const resultsPlace = document.getElementById('results');
if (resultsPlace) {
    replace(resultsPlace, resultsPanel('effects'));
    document.getElementById('numbers').open = false;
}
const tradeoffPlace = document.getElementById('tradeoff');
if (tradeoffPlace) {
    const { guarantee } = result;
    tradeoffChart(tradeoffPlace, 'tradeoff-table').update({
        caught: (share) => (guarantee.mu === null ? caughtBallot(guarantee, share) : caught(guarantee.mu, share)) });
}
const besidePlace = document.getElementById('beside');
if (besidePlace) alignBeside(besidePlace);
document.querySelectorAll('main > .answers3 .answer').forEach((place, i) => drawGauge(place, result.answers?.[i] ?? {}));
document.querySelectorAll('[data-figure]').forEach(drawFigure);
