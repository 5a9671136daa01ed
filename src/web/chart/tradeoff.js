/* tradeoff.js -- the trade-off curve: what the best attacker catches for each
 * share of false alarms they accept. The diagonal is a coin. Its values are read and saved as those of every line
 * chart (crosshair.js, save.js). */
import { axisBottom, axisLeft } from 'd3-axis';
import scaleLinear from 'd3-scale/src/linear.js';
import { area, line } from 'd3-shape';
import { chart, drawAxis, layer, lineHeight, widthOf } from './chart.js';
import { rightAtMost } from '../common/format.js';
import { crosshair } from './crosshair.js';
import { saveButtons } from './save.js';

const RIGHT_MIN = 16;
const TICK_ROOM = 12; /* between an axis and its numbers, and about them */
const SIDE_MAX = 380;
const STEPS = 96;
export const FALSE_ALARMS = 0.05;

const percentTick = (share) => `${Math.round(share * 100)}%`;

/* Closer together near the ends, where the curve bends most. */
const shares = Array.from({ length: STEPS + 1 }, (_, i) => (1 - Math.cos(Math.PI * i / STEPS)) / 2);

const CAUGHT = 'people caught, at most';
const ACCEPTED = 'false alarms accepted';
const LABEL = 'What an attacker catches against the false alarms accepted';

/* What is read and saved: whole percents, the curve and the coin. */
function linesOf(caught) {
    const percents = Array.from({ length: 101 }, (_, i) => i);
    return {
        x: ACCEPTED,
        xUnit: '%',
        series: [{ name: 'caught', points: percents.map((x) => ({ x, y: 100 * caught(x / 100), text: x === 100 ? '100%' : rightAtMost(caught(x / 100)) })) },
            { name: 'a coin', reference: true, points: percents.map((x) => ({ x, y: x, text: `${x}%` })) }],
    };
}

/* Every fifth, or the half where six numbers have no room. */
const ticksIn = (room, each) => (room > 6 * each ? 5 : 2);

/* Room for texts as large as readers have them. */
const margins = () => ({ top: 2 * lineHeight(), bottom: TICK_ROOM + 2.25 * lineHeight(), left: Math.ceil(widthOf(percentTick(1))) + TICK_ROOM,
    right: Math.max(RIGHT_MIN, Math.ceil(widthOf(percentTick(1)) / 2)) });

function drawReading(plot, x, y, most) {
    const group = layer(plot, 'reading');
    layer(group, 'across', 'path').attr('d', `M${x(0)},${y(most)}H${x(FALSE_ALARMS)}V${y(0)}`);
    layer(group, 'dot', 'circle').attr('r', 5).attr('cx', x(FALSE_ALARMS)).attr('cy', y(most));
}

function draw({ plot, width, height, left }, { caught }) {
    const x = scaleLinear().range([0, width]);
    const y = scaleLinear().range([height, 0]);
    const curve = shares.map((share) => [share, caught(share)]);
    drawAxis(plot, 'axis', axisBottom(x).ticks(ticksIn(width, 1.3 * widthOf(percentTick(1)))).tickFormat(percentTick).tickSizeOuter(0), `translate(0,${height})`);
    drawAxis(plot, 'side', axisLeft(y).ticks(ticksIn(height, lineHeight())).tickFormat(percentTick).tickSize(-width), 'translate(0,0)')
        .select('.domain').remove();
    layer(plot, 'gain', 'path').attr('d', area().x((point) => x(point[0])).y0((point) => y(point[0]))
        .y1((point) => y(point[1]))(curve));
    layer(plot, 'coin', 'path').attr('d', `M${x(0)},${y(0)}L${x(1)},${y(1)}`);
    layer(plot, 'line', 'path').attr('d', line().x((point) => x(point[0])).y((point) => y(point[1]))(curve));
    drawReading(plot, x, y, caught(FALSE_ALARMS));
    layer(plot, 'axis-label', 'text').attr('x', width / 2).attr('y', height + TICK_ROOM + 1.75 * lineHeight()).attr('text-anchor', 'middle')
        .text(ACCEPTED);
    layer(plot, 'caught-label', 'text').attr('x', -left).attr('y', -0.75 * lineHeight()).text(CAUGHT);
    layer(plot, 'coin-label', 'text').attr('x', x(0.98)).attr('y', y(0.72)).attr('text-anchor', 'end')
        .text('a coin');
}

/** The curve in a container; update({caught}), what is caught at a share of false alarms. */
export function tradeoffChart(container, describedBy) {
    const reader = crosshair(container, LABEL);
    let lines = null;
    function drawAll(frame, data) {
        draw(frame, data);
        const { plot, width, height, left } = frame;
        lines = linesOf(data.caught);
        reader.update({ plot, data: lines, width, height, left, x: scaleLinear([0, 100], [0, width]), y: scaleLinear([0, 100], [height, 0]) });
    }
    const drawn = chart(container, { label: LABEL, describedBy, margin: {} }, drawAll, (_, width) => ({ height: Math.min(width, SIDE_MAX), ...margins() }));
    drawn.svg.classList.add('lines');
    container.append(saveButtons(LABEL, () => drawn.svg, () => lines));
    reader.attach(drawn.svg);
    return drawn;
}
