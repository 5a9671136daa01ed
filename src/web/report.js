/* report.js -- the charts of a result that was saved as one file.
 *
 * They are the dashboard's charts, drawn from the document that the page
 * carries. The tables are in the page already. */
import { effects, forest } from './chart/forest.js';
import { number } from './format.js';
import { lineChart } from './chart/lines.js';
import { caught, caughtBallot } from './gaussian.js';
import { tradeoffChart } from './chart/tradeoff.js';

const result = JSON.parse(document.getElementById('document').textContent);

function drawForest(place) {
    const rows = result.coefficients.filter((row) => Number.isFinite(row.range));
    const { name, unit, range } = result.response;
    const drawn = effects(rows, rows);
    const ends = drawn.flatMap((row) => [row.low, row.high]).filter(Number.isFinite).map(Math.abs);
    forest(place, 'Forest plot of the coefficients; the table below has the numbers', 'coefficients').update({
        rows: drawn,
        limit: Number.isFinite(range) ? 2 * range : Math.max(...ends, 1e-300),
        axis: `change of ${name}${unit ? ` (${unit})` : ''} from a feature’s lowest to its highest value`,
        describe: (row) => `${row.name}: ${number(row.middle)}, interval ${number(row.low)} to ${number(row.high)}`,
    });
}

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

const forestPlace = document.getElementById('forest');
if (forestPlace) drawForest(forestPlace);
const tradeoffPlace = document.getElementById('tradeoff');
if (tradeoffPlace) {
    const { guarantee } = result;
    tradeoffChart(tradeoffPlace, 'tradeoff-table').update({
        caught: (share) => (guarantee.mu === null ? caughtBallot(guarantee, share) : caught(guarantee.mu, share)) });
}
document.querySelectorAll('[data-figure]').forEach(drawFigure);
