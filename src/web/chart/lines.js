/* lines.js -- a chart of one or a few lines.
 *
 * Lines carry their names at their right ends, pushed apart where they would
 * overlap, so that no legend has to be matched by colour. A point without a
 * number is a gap. */
import { axisBottom, axisLeft } from 'd3-axis';
import { scaleLinear, scaleTime } from 'd3-scale';
import { select } from 'd3-selection';
import { line } from 'd3-shape';
import { chart, drawAxis, fitted, layer } from './chart.js';

const MARGIN = { top: 14, right: 16, bottom: 34, left: 52 };
const NAME_HEIGHT = 16;
const NAME_WIDTH = 110;
const NAMES_MAX = 8;
const SECONDS_LEAST = 10; /* of a time axis */

/**
 * @typedef {Object} Series
 * @property {string} name
 * @property {{x: number|Date, y: number|null}[]} points
 */

const isKnown = (point) => point.y !== null && Number.isFinite(point.y);

function extent(values) {
    return [Math.min(...values), Math.max(...values)];
}

/* A line needs some width and height even while it is one point. */
function widened([low, high], least) {
    return high - low >= least ? [low, high] : [low, low + least];
}

function scales(data, width, height) {
    const points = data.series.flatMap((one) => one.points);
    const xs = points.map((point) => +point.x);
    const ys = [...points.filter(isKnown).map((point) => point.y), ...(data.include ?? [])];
    const x = (data.time ? scaleTime() : scaleLinear()).range([0, width])
        .domain(widened(extent(xs.length > 0 ? xs : [Date.now()]), data.time ? SECONDS_LEAST * 1000 : 1));
    const y = scaleLinear().range([height, 0]).domain(widened(extent(ys.length > 0 ? ys : [0]), Number.MIN_VALUE)).nice(4);
    return { x, y };
}

/* Ends of lines from top to bottom, each at least a name's height below the last. */
function namePlaces(series, y, height) {
    const ends = series.map((one) => ({ name: one.name, y: y(one.points.filter(isKnown).at(-1)?.y ?? 0) }))
        .sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => {
        if (i > 0) end.y = Math.max(end.y, ends[i - 1].y + NAME_HEIGHT);
    });
    for (let i = ends.length - 1, floor = height; i >= 0; i--, floor -= NAME_HEIGHT) {
        ends[i].y = Math.min(ends[i].y, floor);
    }
    return ends;
}

function drawNames(plot, data, y, width, height) {
    const named = data.series.length > 1 && data.series.length <= NAMES_MAX;
    const names = layer(plot, 'names').selectAll('text')
        .data(named ? namePlaces(data.series, y, height) : [], (end) => end.name);
    names.exit().remove();
    names.enter().append('text').merge(names).attr('x', width + 8).attr('dy', '0.35em')
        .attr('y', (end) => end.y).text((end) => fitted(end.name, NAME_WIDTH - 8));
}

function drawSeries(plot, data, x, y) {
    const path = line().x((point) => x(point.x)).y((point) => y(point.y)).defined(isKnown);
    const groups = layer(plot, 'series').selectAll('.one').data(data.series, (one) => one.name);
    groups.exit().remove();
    const entered = groups.enter().append('g').attr('class', 'one');
    entered.append('title');
    entered.append('path').attr('class', 'line');
    entered.append('g').attr('class', 'points');
    entered.merge(groups).each(function one(series) {
        const group = select(this);
        group.select('title').text(series.name);
        group.select('.line').attr('d', path(series.points));
        const known = series.points.filter(isKnown);
        const circles = group.select('.points').selectAll('circle').data(data.dots ? known : known.slice(-1));
        circles.exit().remove();
        circles.enter().append('circle').attr('r', 3.5).merge(circles)
            .attr('cx', (point) => x(point.x)).attr('cy', (point) => y(point.y));
    });
}

/* As much of a moment as tells the ticks of this span from each other. */
function timeFormat([from, to]) {
    const hours = (to - from) / 3600000;
    const parts = hours > 48 ? { day: 'numeric', month: 'short' }
        : { hour: '2-digit', minute: '2-digit', ...(hours < 0.05 ? { second: '2-digit' } : {}) };
    const words = new Intl.DateTimeFormat('en-GB', parts);
    return (moment) => words.format(moment);
}

/* Rounds and repeats are counted: their axis has whole numbers only. */
function xAxis(x, data, width) {
    const axis = axisBottom(x).ticks(Math.max(2, Math.floor(width / 90))).tickSizeOuter(0);
    if (data.time) axis.tickFormat(timeFormat(x.domain()));
    return data.whole ? axis.tickValues(x.ticks(Math.floor(width / 60)).filter(Number.isInteger)).tickFormat(String) : axis;
}

function draw({ plot, width, height }, data) {
    const named = data.series.length > 1 && data.series.length <= NAMES_MAX;
    const inner = width - (named ? NAME_WIDTH : 0);
    const { x, y } = scales(data, inner, height);
    drawAxis(plot, 'axis', xAxis(x, data, inner), `translate(0,${height})`);
    drawAxis(plot, 'side', axisLeft(y).ticks(4).tickSize(-inner), 'translate(0,0)').select('.domain').remove();
    drawSeries(plot, data, x, y);
    drawNames(plot, data, y, inner, height);
}

/** A line chart of the given height; update({series, time, dots, include, whole}). */
export function lineChart(container, label, height = 200, describedBy = undefined) {
    return chart(container, { label, describedBy, margin: MARGIN }, draw, () => ({ height }));
}
