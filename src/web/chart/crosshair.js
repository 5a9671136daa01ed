/* crosshair.js -- the values of all lines at one place, by pointer, finger or arrow keys.
 *
 * The places are the points' own. What the keys move is a real slider, which nobody sees until it has
 * the focus: a screen reader reads its value, and a click into the chart leads to it. */
import { element } from '../common/dom.js';
import { number } from '../common/format.js';
import { layer, lineHeight, widthOf } from './chart.js';
import { styleOf } from './names.js';

const PAD = 9;
const BESIDE = 4; /* a line is this wide to a box that would hide it */
const END_COUNTS = 2; /* an end weighs as much as so many whole lines */
const MOST = 9; /* lines whose values are shown at once: those next to the pointer */

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

/* All places of the points, in order. */
function placesOf(data) {
    return [...new Set(data.series.flatMap((one) => one.points.map((point) => +point.x)))].sort((a, b) => a - b);
}

function valueText(point) {
    if (point.text) return point.text; /* bounds are rounded their own way */
    const band = known(point.low) && known(point.high) ? ` (${number(point.low, 3)} to ${number(point.high, 3)})` : '';
    return `${number(point.y, 4)}${band}${point.ahead ? ', projected' : ''}`;
}

/* What there is at a place: {name, style, y, text}, from top to bottom. */
function valuesAt(view, at) {
    return view.data.series.flatMap((one, i) => {
        const point = one.points.find((candidate) => +candidate.x === at);
        return point && known(point.y)
            ? [{ name: one.name, style: styleOf(one, i), y: view.y(point.y), text: valueText(point) }] : [];
    }).sort((a, b) => a.y - b.y);
}

function heading(view, at) {
    const value = `${number(at, 6)}${view.data.xUnit ?? ''}`;
    return view.data.x ? `${view.data.x}: ${value}` : value;
}

/* How much of the lines a box would hide; their ends count most. */
function hiddenBy(view, { x, y, width, height }) {
    const isWithin = (point) => known(point.y) && view.x(point.x) >= x - BESIDE && view.x(point.x) <= x + width + BESIDE
        && view.y(point.y) >= y - BESIDE && view.y(point.y) <= y + height + BESIDE;
    return view.data.series.reduce((sum, { points }) => {
        const last = points.findLast((point) => known(point.y));
        return sum + points.filter(isWithin).length + (last && isWithin(last) ? END_COUNTS * points.length : 0);
    }, 0);
}

/* Where the box goes: beside the upright line, above or below, where it hides least. */
function boxPlace(view, place, width, height) {
    const right = place + 12 + width <= view.width || place < view.width / 2;
    const within = (x) => Math.max(-view.left, Math.min(x, view.width - width));
    const sides = [place + 12, place - 12 - width];
    const places = (right ? sides : sides.toReversed()).flatMap((x) => [0, Math.max(0, view.height - height)].map((y) => (
        { x: within(x), y, width, height })));
    const isClear = (box) => box.x > place || box.x + width < place; /* of what is pointed at */
    const cost = places.map((box) => hiddenBy(view, box) + (isClear(box) ? 0 : 1));
    return places[cost.indexOf(Math.min(...cost))];
}

function drawBox(group, view, place, lines) {
    const line = lineHeight() + 1;
    const wide = Math.max(...lines.map((one) => widthOf(one.name ? `${one.name}  ${one.text}` : one.text) + (one.name ? 26 : 0)));
    const width = Math.min(wide + 2 * PAD, view.width + view.left);
    const height = lines.length * line + PAD;
    const { x, y } = boxPlace(view, place, width, height);
    const box = layer(group, 'box').attr('transform', `translate(${x},${y})`);
    layer(box, 'ground', 'rect').attr('width', width).attr('height', height).attr('rx', 6);
    const rows = layer(box, 'words').selectAll('g').data(lines);
    rows.exit().remove();
    const entered = rows.enter().append('g');
    entered.append('path');
    entered.append('text').attr('dy', '0.35em');
    const all = entered.merge(rows).attr('transform', (_, i) => `translate(${PAD},${i * line + line / 2 + PAD / 2})`);
    all.select('path').attr('class', (one) => `line ${one.style ?? ''}`).attr('d', (one) => (one.name ? 'M0,0H18' : null));
    all.select('text').attr('x', (one) => (one.name ? 26 : 0)).text((one) => (one.name ? `${one.name}  ${one.text}` : one.text));
}

function draw(view, at, values) {
    if (at === null) { /* most charts are never asked */
        view.plot.select('.cross').attr('visibility', 'hidden');
        return;
    }
    const group = layer(view.plot, 'cross').attr('visibility', null);
    const place = view.x(at);
    layer(group, 'upright', 'line').attr('x1', place).attr('x2', place).attr('y2', view.height);
    const dots = layer(group, 'dots').selectAll('circle').data(values);
    dots.exit().remove();
    dots.enter().append('circle').attr('r', 4).merge(dots).attr('class', (one) => one.style).attr('cx', place).attr('cy', (one) => one.y);
    drawBox(group, view, place, [{ text: heading(view, at) }, ...values]);
}

/** Its parts: attach(svg) once, when the container has everything else, update(view) whenever the chart was drawn. */
export function crosshair(container, label) {
    const slider = element('input', { type: 'range', class: 'reader', min: '0', step: '1', 'aria-label': `Values of: ${label}` });
    let view = null;
    let places = [];
    let chosen = null; /* index of a place; null: nothing is shown */

    function show(index, near = null) {
        chosen = index;
        const at = index === null ? null : places[index];
        let values = at === null ? [] : valuesAt(view, at);
        if (values.length > MOST) {
            const middle = near ?? view.height / 2;
            values = values.sort((a, b) => Math.abs(a.y - middle) - Math.abs(b.y - middle)).slice(0, MOST).sort((a, b) => a.y - b.y);
        }
        draw(view, at, values);
        if (at === null) return;
        slider.value = String(index);
        slider.setAttribute('aria-valuetext', [heading(view, at), ...values.map((one) => `${one.name} ${one.text}`)].join('; '));
    }

    function follow(event) {
        if (!view || places.length === 0) return;
        const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(view.plot.node().getScreenCTM().inverse());
        const distance = (place) => Math.abs(view.x(place) - x);
        show(places.reduce((best, place, i) => (distance(place) < distance(places[best]) ? i : best), 0), y);
    }

    slider.addEventListener('focus', () => places.length > 0 && show(chosen ?? places.length - 1));
    slider.addEventListener('input', () => show(Number(slider.value)));
    slider.addEventListener('blur', () => view && show(null));
    return {
        attach(svg) {
            svg.addEventListener('pointermove', follow);
            svg.addEventListener('pointerdown', follow);
            svg.addEventListener('click', () => slider.focus({ preventScroll: true }));
            svg.addEventListener('pointerleave', (event) => {
                if (view && event.pointerType === 'mouse' && document.activeElement !== slider) show(null);
            });
            container.append(slider); /* after all else: it vanishes when it loses the focus, and must move no button that was pressed */
        },
        update(next) {
            view = next;
            places = placesOf(view.data);
            slider.max = String(Math.max(0, places.length - 1));
            slider.disabled = places.length === 0;
            show(chosen === null || places.length === 0 ? null : Math.min(chosen, places.length - 1));
        },
    };
}
