/* forest.js -- coefficients with their intervals on one axis.
 *
 * Coefficients have the units of their features, so they cannot share an axis
 * as they are. What is drawn is the change of the response while a feature goes
 * from its lower public bound to its upper one: every row is then in the unit
 * of the response. The table beside the plot has the coefficients themselves.
 *
 * An interval that is not identified, or wider than the axis, runs out of the
 * plot with an arrow: the axis belongs to what is known, and never reaches
 * further than twice the response's range, beyond which nothing is learnt.
 *
 * Intervals are rectangles and not paths, because their x and width can glide
 * (charts.css) from one estimate to the next. */
import { axisBottom } from 'd3-axis';
import { scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { chart, drawAxis, fitted, layer, widthOf } from './chart.js';

const ROW = 34;
const ROW_MANY = 24;
const MANY = 16; /* rows from which they stand closer */
const ROW_NARROW = 46;
const NARROW = 560;
const LABEL_MAX = 200;
const LABEL_GAP = 14;
const MARGIN = { top: 8, right: 18, bottom: 46, left: LABEL_MAX };
const CAP = 12;
const THICK = 3;

/**
 * @typedef {Object} Effect
 * @property {string} name
 * @property {number|null} middle
 * @property {number} low   -Infinity when not identified
 * @property {number} high  Infinity when not identified
 */

/** Coefficients as effects over the whole range of their feature. */
export function effects(coefficients, coordinates) {
    return coordinates.map((coordinate, i) => {
        const row = coefficients[i];
        const known = row && row.identified && row.low !== null && row.high !== null;
        return {
            name: coordinate.name,
            middle: known && row.estimate !== null ? row.estimate * coordinate.range : null,
            low: known ? row.low * coordinate.range : -Infinity,
            high: known ? row.high * coordinate.range : Infinity,
        };
    });
}

/** The axis: everything finite, zero, and not more than the limit either way. */
export function domain(rows, limit) {
    const ends = rows.flatMap((row) => [row.low, row.high]).filter(Number.isFinite)
        .map((end) => Math.max(-limit, Math.min(limit, end)));
    const reach = ends.length > 0 ? [...ends, 0] : [-limit / 2, limit / 2];
    return [Math.min(...reach), Math.max(...reach)];
}

function enterRow(group) {
    group.append('title');
    group.append('line').attr('class', 'guide');
    group.append('text').attr('class', 'name');
    group.append('rect').attr('class', 'interval').attr('y', -THICK / 2).attr('height', THICK);
    for (const end of ['from', 'to']) {
        group.append('rect').attr('class', `cap ${end}`).attr('y', -CAP / 2).attr('height', CAP).attr('width', 2);
        group.append('path').attr('class', `arrow ${end}`);
    }
    group.append('circle').attr('class', 'middle').attr('r', 5);
}

function placeName(group, row, { narrow, width }) {
    group.select('.name').attr('x', narrow ? 0 : -LABEL_GAP).attr('y', narrow ? -13 : 0)
        .attr('text-anchor', narrow ? 'start' : 'end').attr('dy', narrow ? 0 : '0.35em')
        .text(fitted(row.name, narrow ? width : LABEL_MAX - LABEL_GAP));
}

/* An end is a cap inside the plot, an arrow where the interval leaves it. */
function placeEnd(group, end, x, edge, inside) {
    const back = end === 'from' ? 7 : -7;
    group.select(`.cap.${end}`).attr('x', x - 1).attr('visibility', inside ? null : 'hidden');
    group.select(`.arrow.${end}`).attr('visibility', inside ? 'hidden' : null)
        .attr('d', `M${edge + back},-5L${edge},0L${edge + back},5`);
}

function placeInterval(group, row, { scale, width }) {
    const [least, most] = scale.domain();
    const inside = (value) => value >= least && value <= most;
    const within = (value) => scale(Math.max(least, Math.min(most, value)));
    const from = within(row.low);
    const to = within(row.high);
    group.select('.interval').attr('x', from).attr('width', Math.max(0, to - from));
    placeEnd(group, 'from', from, 0, inside(row.low));
    placeEnd(group, 'to', to, width, inside(row.high));
    const known = row.middle !== null && inside(row.middle);
    group.select('.middle').attr('cx', within(known ? row.middle : 0))
        .attr('visibility', known ? null : 'hidden');
}

function drawRow(group, row, view) {
    const decided = row.low > 0 || row.high < 0;
    const known = Number.isFinite(row.low) && Number.isFinite(row.high);
    group.attr('class', `row${decided ? ' decided' : ''}${known ? '' : ' unknown'}`);
    group.select('title').text(view.describe(row));
    group.select('.guide').attr('x2', view.width);
    placeName(group, row, view);
    placeInterval(group, row, view);
}

function draw({ plot, width, height, narrow, step }, data) {
    const scale = scaleLinear().domain(domain(data.rows, data.limit)).nice(6).range([0, width]);
    drawAxis(plot, 'axis', axisBottom(scale).ticks(Math.max(3, Math.floor(width / 90))).tickSizeOuter(0),
        `translate(0,${height})`);
    layer(plot, 'axis-label', 'text').attr('x', width / 2).attr('y', height + 40)
        .attr('text-anchor', 'middle').text(fitted(data.axis, width));
    layer(plot, 'zero', 'line').attr('x1', scale(0)).attr('x2', scale(0)).attr('y2', height);
    const view = { scale, width, narrow, describe: data.describe };
    const rows = layer(plot, 'rows').selectAll('g').data(data.rows, (row) => row.name);
    rows.exit().remove();
    rows.enter().append('g').call(enterRow).merge(rows).each(function each(row, i) {
        const group = select(this);
        group.attr('transform', `translate(0,${i * step + (narrow ? step - 12 : step / 2)})`);
        drawRow(group, row, view);
    });
}

function measure(data, width) {
    const narrow = width < NARROW;
    const wide = data.rows.length < MANY ? ROW : ROW_MANY;
    const step = narrow ? ROW_NARROW : wide;
    return {
        narrow,
        step,
        height: MARGIN.top + MARGIN.bottom + data.rows.length * step,
        left: narrow ? 12 : Math.min(LABEL_MAX, Math.max(...data.rows.map((row) => widthOf(row.name))) + LABEL_GAP),
    };
}

/**
 * A forest plot in a container, described by the table with the given id.
 * update({rows, limit, axis, describe}) redraws it in place.
 */
export function forest(container, label, tableId) {
    return chart(container, { label, describedBy: tableId, margin: MARGIN }, draw, measure);
}
