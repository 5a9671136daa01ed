/* report.js -- answers, results and charts of a result that was saved as one file.
 *
 * They are the study page's own parts, made from the document that the page
 * carries. The tables are in the page already. */
import { answers } from './study/answers.js';
import { lineChart } from './chart/lines.js';
import { caught, caughtBallot } from './common/gaussian.js';
import { resultsPanel } from './study/results.js';
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
document.querySelectorAll('[data-figure]').forEach(drawFigure);
