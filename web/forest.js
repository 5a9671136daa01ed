/* forest.js -- coefficients with their intervals on one axis.
 *
 * Coefficients have the units of their features, so they cannot share an axis
 * as they are. What is drawn is the change of the response while a feature goes
 * from its lower public bound to its upper one: every row is then in the unit
 * of the response. The table beside the plot has the coefficients themselves.
 *
 * An interval that is not identified, or wider than the axis, runs out of the
 * plot with an arrow: the axis belongs to what is known, and never reaches
 * further than twice the response's range, beyond which nothing is learnt. */
import { axisBottom } from 'd3-axis';
import { scaleLinear } from 'd3-scale';
import { chart, drawAxis, layer } from './chart.js';

const ROW = 34;
const ROW_NARROW = 46;
const NARROW = 560;
const LABEL = 190;
const MARGIN = { top: 8, right: 18, bottom: 44, left: LABEL };

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
            middle: row && row.estimate !== null ? row.estimate * coordinate.range : null,
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

const isNarrow = (width) => width < NARROW;

function fitted(text, width) {
    const most = Math.max(4, Math.floor(width / 7.4));
    const letters = Array.from(text);
    return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : text;
}

function enterRow(group) {
    group.append('title');
    group.append('line').attr('class', 'guide');
    group.append('text').attr('class', 'name');
    group.append('path').attr('class', 'interval');
    group.append('circle').attr('class', 'middle').attr('r', 4.5);
}

/* A line between the ends; an arrow where the interval leaves the plot. */
function intervalPath(row, scale) {
    const [left, right] = scale.range();
    const from = Math.max(left, Math.min(right, scale(row.low)));
    const to = Math.max(left, Math.min(right, scale(row.high)));
    const outLeft = !(scale(row.low) >= left);
    const outRight = !(scale(row.high) <= right);
    const start = outLeft ? `M${left + 6},-4L${left},0L${left + 6},4M${left},0` : `M${from},-5V5M${from},0`;
    const end = outRight ? `H${right}M${right - 6},-4L${right},0L${right - 6},4` : `H${to}M${to},-5V5`;
    return start + end;
}

function drawRow(group, row, view) {
    const { scale, width, narrow, describe } = view;
    const decided = row.low > 0 || row.high < 0;
    group.attr('class', `row${decided ? ' decided' : ''}${Number.isFinite(row.low) ? '' : ' unknown'}`);
    group.select('title').text(describe(row));
    group.select('.guide').attr('x1', 0).attr('x2', width).attr('y1', 0).attr('y2', 0);
    group.select('.name').attr('x', narrow ? 0 : -12).attr('y', narrow ? -12 : 0)
        .attr('text-anchor', narrow ? 'start' : 'end').attr('dy', narrow ? 0 : '0.35em')
        .text(fitted(row.name, narrow ? width : LABEL - 16));
    group.select('.interval').attr('d', intervalPath(row, scale));
    const inside = row.middle !== null && scale(row.middle) >= 0 && scale(row.middle) <= width;
    group.select('.middle').attr('cx', inside ? scale(row.middle) : 0)
        .attr('visibility', inside ? null : 'hidden');
}

function draw({ plot, width, height }, data) {
    const narrow = isNarrow(width + (width < NARROW ? 0 : LABEL));
    const step = narrow ? ROW_NARROW : ROW;
    const scale = scaleLinear().domain(domain(data.rows, data.limit)).nice(6).range([0, width]);
    drawAxis(plot, 'axis', axisBottom(scale).ticks(Math.max(3, Math.floor(width / 90))).tickSizeOuter(0),
        `translate(0,${height})`);
    layer(plot, 'axis-label', 'text').attr('x', width / 2).attr('y', height + 38)
        .attr('text-anchor', 'middle').text(fitted(data.axis, width + 60));
    layer(plot, 'zero', 'line').attr('x1', scale(0)).attr('x2', scale(0)).attr('y1', 0)
        .attr('y2', height);
    const view = { scale, width, narrow, describe: data.describe };
    const rows = layer(plot, 'rows').selectAll('g').data(data.rows, (row) => row.name);
    rows.exit().remove();
    const entered = rows.enter().append('g').call(enterRow);
    entered.merge(rows).each(function each(row, i, nodes) {
        const offset = narrow ? step - 12 : step / 2;
        const group = plot.select('.rows').selectAll('g').filter(function same() { return this === nodes[i]; });
        group.attr('transform', `translate(0,${i * step + offset})`);
        drawRow(group, row, view);
    });
}

function measure(data, width) {
    const narrow = isNarrow(width);
    return {
        height: MARGIN.top + MARGIN.bottom + data.rows.length * (narrow ? ROW_NARROW : ROW),
        left: narrow ? 12 : LABEL,
    };
}

/**
 * A forest plot in a container, described by the table with the given id.
 * update({rows, limit, axis, describe}) redraws it in place.
 */
export function forest(container, label, tableId) {
    return chart(container, { label, describedBy: tableId, margin: MARGIN }, draw, measure);
}
