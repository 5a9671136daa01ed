/* lines.js -- a chart of one or a few lines, with bands, names and values.
 *
 * Every line has a colour and a dash of its own and carries its name (names.js), so that nobody
 * has to match a legend by colour alone. A point may have an interval, low and high: together they are a
 * band. A point without a number is a gap. Values are read by pointer, finger or arrow keys
 * (crosshair.js) and saved as a picture or a table (save.js). */
import { axisBottom, axisLeft } from 'd3-axis';
import scaleLinear from 'd3-scale/src/linear.js';
import scaleLog from 'd3-scale/src/log.js';
import { select } from 'd3-selection';
import { area, line } from 'd3-shape';
import { shortCount } from '../common/format.js';
import { chart, drawAxis, fitted, layer, lineHeight, widthOf } from './chart.js';
import { crosshair } from './crosshair.js';
import { drawEndNames, drawLegend, namesLayout, styleOf } from './names.js';
import { saveButtons } from './save.js';

const MARGIN = { top: 14, right: 16, bottom: 30, left: 52 };
const TITLE_HEIGHT = 22;
const MARK_GAP = 12;
const LOG_TICKS_MIN = 3;
let clips = 0;

/**
 * @typedef {Object} Point
 * @property {number} x
 * @property {number|null} y
 * @property {number|null} [low]   with `high`, an interval around y
 * @property {number|null} [high]
 * @property {string} [text]       what is read there, where the plain number would not do
 * @property {boolean} [ahead]     not seen but projected: drawn lightly and dashed, after all that was seen
 *
 * @typedef {Object} Series
 * @property {string} name
 * @property {Point[]} points
 * @property {boolean} [reference]  what others are held against: drawn quietly
 *
 * @typedef {Object} Lines
 * @property {Series[]} series
 * @property {string} [x]  what the axis shows, with its unit
 * @property {string} [y]
 * @property {boolean} [log]    x on a logarithmic axis
 * @property {boolean} [whole]  x are counted
 * @property {boolean} [dots]   every point has one
 * @property {number[]} [include]  values that the y axis reaches
 * @property {[number, number]} [domain]  of the y axis, exactly; what is beyond is cut
 * @property {number[]} [xInclude]  values that the x axis reaches
 * @property {{x: number, label: string, wordsOnly?: boolean}[]} [marks]  upright lines with words, or words alone
 */

const isKnown = (point) => point.y !== null && Number.isFinite(point.y);
const hasBand = (point) => isKnown(point) && Number.isFinite(point.low ?? NaN) && Number.isFinite(point.high ?? NaN);

function extent(values) {
    return [Math.min(...values), Math.max(...values)];
}

/* A line needs some width and height even while it is one point. */
function widened([low, high], least) {
    return high - low >= least ? [low, high] : [low, low + least];
}

function xScale(data, width) {
    const xs = data.series.flatMap((one) => one.points.map((point) => +point.x))
        .concat((data.marks ?? []).map((mark) => +mark.x), data.xInclude ?? []).filter((x) => !data.log || x > 0);
    if (data.log) return scaleLog().range([0, width]).domain(xs.length > 1 ? extent(xs) : [xs[0] ?? 1, 10 * (xs[0] ?? 1)]);
    return scaleLinear().range([0, width]).domain(widened(extent(xs.length > 0 ? xs : [0]), 1));
}

function yScale(data, height) {
    const scale = scaleLinear().range([height, 0]);
    if (data.domain) return scale.domain(data.domain);
    const points = data.series.flatMap((one) => one.points).filter(isKnown);
    const ys = [...points.map((point) => point.y), ...points.filter(hasBand).flatMap((point) => [point.low, point.high]),
        ...(data.include ?? [])];
    return scale.domain(widened(extent(ys.length > 0 ? ys : [0]), Number.MIN_VALUE)).nice(4);
}

/* How a value of the x axis is written. */
function xFormat(x, data) {
    if (data.whole) return String;
    return data.log ? shortCount : x.tickFormat(8);
}

/* Do the labels stand apart? */
function stand(x, values, format) {
    let end = -Infinity;
    return values.every((value) => {
        const half = widthOf(format(value)) / 2;
        const clear = x(value) - half > end + 8;
        end = x(value) + half;
        return clear;
    });
}

/* On a logarithmic axis those of 1, 2 and 5, or of 1 alone; all where the axis is short. */
function logTicks(x) {
    const leading = (value) => Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
    const withDigits = (digits) => x.ticks(50).filter((value) => digits.includes(leading(value)));
    const usual = [[1, 2, 5], [1, 3], [1]].map(withDigits);
    return usual[0].length < LOG_TICKS_MIN ? [x.ticks(50), withDigits([1, 2, 4, 6, 8]), ...usual] : usual;
}

/* As many ticks as there is room for. */
function ticksOf(x, data, format) {
    const [from, to] = x.domain();
    const candidates = data.log ? logTicks(x)
        : [12, 10, 8, 6, 5, 4, 3, 2].map((many) => x.ticks(many).filter((value) => !data.whole || Number.isInteger(value)));
    const fitting = candidates.find((values) => values.length > 0 && stand(x, values, format));
    return fitting ?? [from, to];
}

/* The words of upright lines stand left of them, or right where there is no room, and one below the other
 * where they would meet. */
function placedMarks(marks, x) {
    const ends = []; /* of the words in each row */
    return marks.slice().sort((a, b) => a.x - b.x).map((mark) => {
        const at = x(mark.x);
        const wide = widthOf(mark.label) + MARK_GAP;
        const isLeft = at >= wide;
        const [from, to] = isLeft ? [at - wide, at] : [at, at + wide];
        const free = ends.findIndex((end) => end <= from);
        const row = free >= 0 ? free : ends.length;
        ends[row] = to;
        return { ...mark, at, isLeft, row };
    });
}

function drawMarks(plot, data, x, height) {
    const marks = layer(plot, 'marks').selectAll('g').data(placedMarks(data.marks ?? [], x), (mark) => mark.label);
    marks.exit().remove();
    const entered = marks.enter().append('g');
    entered.append('line');
    entered.append('text');
    const all = entered.merge(marks).attr('transform', (mark) => `translate(${mark.at},0)`);
    all.select('line').attr('y2', height).attr('visibility', (mark) => (mark.wordsOnly ? 'hidden' : null));
    all.select('text').attr('text-anchor', (mark) => (mark.isLeft ? 'end' : 'start'))
        .attr('x', (mark) => (mark.isLeft ? -MARK_GAP / 2 : MARK_GAP / 2)).attr('y', (mark) => 12 + lineHeight() * mark.row).text((mark) => mark.label);
}

/* What was seen, and what is projected from its last point on. */
function parted(points) {
    const begin = points.findIndex((point) => point.ahead);
    return begin < 0 ? [points, []] : [points.slice(0, begin), points.slice(Math.max(0, begin - 1))];
}

/* The projected part has paths of its own, of which most charts need none. */
function drawAhead(group, points, band, path) {
    const paths = group.selectAll('.ahead').data(points.length > 0 ? [['band', band], ['line', path]] : [], ([kind]) => kind);
    paths.exit().remove();
    paths.enter().insert('path', '.points').attr('class', ([kind]) => `${kind} ahead`).merge(paths).attr('d', ([, shape]) => shape(points));
}

function drawSeries(plot, data, x, y, clip) {
    const path = line().x((point) => x(point.x)).y((point) => y(point.y)).defined(isKnown);
    const band = area().x((point) => x(point.x)).y0((point) => y(point.low)).y1((point) => y(point.high)).defined(hasBand);
    const groups = layer(plot, 'series').attr('clip-path', clip).selectAll('.one').data(data.series, (one) => one.name);
    groups.exit().remove();
    const entered = groups.enter().append('g');
    entered.append('title');
    entered.append('path').attr('class', 'band');
    entered.append('path').attr('class', 'line');
    entered.append('g').attr('class', 'points');
    entered.merge(groups).each(function one(series, i) {
        const group = select(this).attr('class', `one ${styleOf(series, i)}`);
        group.select('title').text(series.name);
        const [seen, ahead] = parted(series.points);
        group.select('.band').attr('d', band(seen));
        group.select('.line').attr('d', path(seen));
        drawAhead(group, ahead, band, path);
        const known = seen.filter(isKnown);
        const circles = group.select('.points').selectAll('circle').data(data.dots ? known : known.slice(-1));
        circles.exit().remove();
        circles.enter().append('circle').attr('r', 3.5).merge(circles)
            .attr('cx', (point) => x(point.x)).attr('cy', (point) => y(point.y));
    });
}

/* The ends of lines that have one. */
function endsOf(series, x, y) {
    return series.flatMap((one, i) => {
        const last = one.points.filter(isKnown).at(-1);
        return last ? [{ name: one.name, style: styleOf(one, i), x: x(last.x), end: y(last.y) }] : [];
    });
}

function drawTitles(plot, data, size, width, height) {
    layer(plot, 'axis-label', 'text').attr('x', width / 2).attr('y', height + 44).attr('text-anchor', 'middle').text(fitted(data.x ?? '', width));
    layer(plot, 'side-label', 'text').attr('x', -size.left).attr('y', -12).text(fitted(data.y ?? '', width + size.left));
}

/* Margins, and where the names go: everything that depends on how wide texts are. */
function measure(data, width, height) {
    const names = namesLayout(data.series, width, height - MARGIN.top - MARGIN.bottom - 2 * TITLE_HEIGHT);
    const legend = names.rows.length * lineHeight();
    const top = MARGIN.top + (data.y ? TITLE_HEIGHT - 6 : 0) + legend;
    const bottom = MARGIN.bottom + (data.x ? TITLE_HEIGHT : 0);
    const y = yScale(data, 1);
    const labels = y.ticks(4).map((value) => widthOf(y.tickFormat(4)(value)));
    return { names, height: height + legend, top, bottom, left: Math.ceil(Math.max(...labels, 8)) + 14,
        right: Math.max(MARGIN.right, names.right) };
}

/**
 * A line chart of the given height. update(lines) draws it anew, in place; see Lines.
 * @param {{tools?: boolean}} [options]  tools: buttons that save it; true unless told
 */
export function lineChart(container, label, height = 200, describedBy = undefined, { tools = true } = {}) {
    const clip = `clip-${++clips}`;
    const reader = crosshair(container, label);
    let lines = null;

    function draw(size, data) {
        const { plot, width, height: inner } = size;
        const x = xScale(data, width);
        const y = yScale(data, inner);
        const format = xFormat(x, data);
        layer(layer(plot, 'cut', 'clipPath').attr('id', clip), 'all', 'rect').attr('x', -6).attr('y', -6)
            .attr('width', width + 12).attr('height', inner + 12);
        drawAxis(plot, 'axis', axisBottom(x).tickValues(ticksOf(x, data, format)).tickFormat(format).tickSizeOuter(0), `translate(0,${inner})`);
        drawAxis(plot, 'side', axisLeft(y).ticks(4).tickSize(-width), 'translate(0,0)').select('.domain').remove();
        const [least, most] = y.domain();
        layer(plot, 'zero', 'line').attr('x2', width).attr('y1', y(0)).attr('y2', y(0))
            .attr('visibility', least < 0 && most > 0 ? null : 'hidden');
        drawMarks(plot, data, x, inner);
        drawSeries(plot, data, x, y, `url(#${clip})`);
        drawEndNames(plot, size.names.right > 0 ? endsOf(data.series, x, y) : [], width, inner);
        drawLegend(plot, size.names.rows.map((row) => row.map(({ one, x: at }) => (
            { x: at, one: { name: one.name, style: styleOf(one, data.series.indexOf(one)) } }))), size.left, size.top, width + size.left);
        drawTitles(plot, data, size, width, inner);
        reader.update({ plot, data, x, y, width, height: inner, left: size.left, format });
    }

    const drawn = chart(container, { label, describedBy, height, margin: MARGIN }, draw, (data, width) => measure(data, width, height));
    drawn.svg.classList.add('lines');
    if (tools) container.append(saveButtons(label, () => drawn.svg, () => lines));
    reader.attach(drawn.svg);
    return {
        ...drawn,
        update(next) {
            lines = next;
            drawn.update(next);
        },
    };
}
