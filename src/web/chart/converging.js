/* converging.js -- one coefficient and its interval as devices come in.
 *
 * Devices are on a logarithmic axis, because intervals tighten with the root of their number. The
 * dashed lines say how they go on if the coefficient stays where it is. What lies beyond
 * the axis is cut off at its edge. */
import { axisBottom, axisLeft } from 'd3-axis';
import { scaleLinear, scaleLog } from 'd3-scale';
import { area, line } from 'd3-shape';
import { chart, drawAxis, layer } from './chart.js';
import { shortCount } from '../format.js';

const HEIGHT = 150;
const MARGIN = { top: 16, right: 10, bottom: 26, left: 44 };
const STEPS = 24;
let clips = 0;

const isKnown = (point) => point.middle !== null;

/* Powers of ten, and with little room every second or third of them. */
function countTicks([from, to], width) {
    const powers = [];
    for (let power = Math.ceil(Math.log10(from)); power <= Math.log10(to) + 1e-9; power++) powers.push(10 ** power);
    const every = Math.max(1, Math.ceil(powers.length * 38 / width));
    return powers.filter((_, i) => i % every === 0);
}

/* From the last point on: the half width goes with one over the root of the devices. */
function toCome({ devices, middle, low, high }, until) {
    const at = (share) => {
        const x = devices * (until / devices) ** share;
        const shrink = Math.sqrt(devices / x);
        return { x, low: middle + (low - middle) * shrink, high: middle + (high - middle) * shrink };
    };
    return Array.from({ length: STEPS + 1 }, (_, i) => at(i / STEPS));
}

function drawPlanned(plot, x, needed, height) {
    const [from, to] = x.domain();
    const inside = needed !== null && needed >= from && needed <= to;
    const place = inside ? x(needed) : 0;
    layer(plot, 'planned', 'line').attr('x1', place).attr('x2', place).attr('y2', height).attr('visibility', inside ? null : 'hidden');
    layer(plot, 'planned-name', 'text').attr('x', place).attr('y', -4).attr('text-anchor', place > 60 ? 'end' : 'start')
        .attr('visibility', inside ? null : 'hidden').text('planned');
}

function draw({ plot, width, height }, { points, told, devices, limit, needed }) {
    const x = scaleLog().domain(devices).range([0, width]);
    const y = scaleLinear().domain([-limit, limit]).range([height, 0]);
    drawAxis(plot, 'axis', axisBottom(x).tickValues(countTicks(devices, width)).tickFormat(shortCount).tickSizeOuter(0), `translate(0,${height})`);
    drawAxis(plot, 'side', axisLeft(y).tickValues([-limit, 0, limit]).tickSize(-width), 'translate(0,0)').select('.domain').remove();
    layer(plot, 'zero', 'line').attr('x2', width).attr('y1', y(0)).attr('y2', y(0));
    drawPlanned(plot, x, needed, height);
    const clip = layer(plot, 'clip', 'clipPath');
    if (clip.attr('id') === null) clip.attr('id', `converging-${++clips}`);
    layer(clip, 'inside', 'rect').attr('width', width).attr('height', height);
    const group = layer(plot, 'converging').attr('clip-path', `url(#${clip.attr('id')})`).classed('decided', told);
    const band = area().defined(isKnown).x((point) => x(point.devices)).y0((point) => y(point.low)).y1((point) => y(point.high));
    layer(group, 'area', 'path').attr('d', band(points));
    layer(group, 'path', 'path').attr('d', line().defined(isKnown).x((point) => x(point.devices)).y((point) => y(point.middle))(points));
    const last = points.at(-1);
    const future = last !== undefined && isKnown(last) && last.devices < devices[1] ? toCome(last, devices[1]) : [];
    const edge = (end) => line().x((point) => x(point.x)).y((point) => y(point[end]))(future) ?? '';
    layer(group, 'to-come', 'path').attr('d', future.length > 0 ? edge('low') + edge('high') : null);
}

/** A chart in a container; update({points: [{devices, middle, low, high}], told, devices: [from, to], limit, needed}). */
export function convergingChart(container, label, describedBy) {
    return chart(container, { label, describedBy, margin: MARGIN }, draw, () => ({ height: HEIGHT }));
}
