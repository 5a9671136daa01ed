/* chart.js -- what every chart shares: an SVG that follows its container's
 * width, room for axes, and one way to draw again.
 *
 * Charts are SVG, so that their words can be selected, printed, read aloud and
 * tested. Colours come from CSS classes (charts.css) and change with the theme. */
import { select } from 'd3-selection';
import { measureAs } from './text.js';
import { turn } from './turns.js';

export { fitted, lineHeight, widthOf } from './text.js';

let charts = 0;
const WIDTH_LEAST = 100; /* with less there is no room for an axis, let alone for what it shows */

/**
 * @typedef {Object} Frame
 * @property {any} plot     d3 selection of the inner group
 * @property {number} width   of the inner group
 * @property {number} height  of the inner group
 */

/**
 * A chart in a container.
 * @param {HTMLElement} container
 * @param {{label: string, describedBy?: string, height?: number, margin: {top: number, right: number, bottom: number, left: number}}} options
 *     margins that measure() does not give; a height that is known beforehand keeps the place free until there is something to draw
 * @param {(frame: Frame, data: any) => void} draw  draws or redraws in place
 * @param {(data: any, width: number) => {height: number, left?: number, right?: number, top?: number, bottom?: number}} measure
 *     the whole height, margins that depend on the data, and whatever else drawing depends on at this width
 */
export function chart(container, options, draw, measure) {
    const title = `chart-${++charts}`;
    const svg = select(container).append('svg').attr('class', 'chart').attr('role', 'img')
        .attr('aria-labelledby', title);
    if (options.describedBy) svg.attr('aria-describedby', options.describedBy);
    if (options.height) svg.attr('height', options.height);
    svg.append('title').attr('id', title).text(options.label);
    const plot = svg.append('g');
    let data = null;
    let width = 0; /* told by the observer: asking for it would lay out the page in the middle of drawing */

    function redraw() {
        if (data === null || width < WIDTH_LEAST) return;
        measureAs(svg.node());
        const size = measure(data, width);
        const { top, right, bottom, left } = { ...options.margin, ...size };
        svg.attr('viewBox', `0 0 ${width} ${size.height}`).attr('width', width)
            .attr('height', size.height);
        plot.attr('transform', `translate(${left},${top})`);
        draw({ plot, ...size, width: width - left - right, height: size.height - top - bottom }, data);
    }

    const ask = turn(container, redraw);
    const askIfReady = () => { if (data !== null && width >= WIDTH_LEAST) ask(); };
    new ResizeObserver(([{ contentRect }]) => {
        const now = Math.round(contentRect.width);
        if (now === width) return;
        width = now;
        askIfReady();
    }).observe(container);
    return {
        svg: svg.node(),
        update(next) {
            data = next;
            askIfReady();
        },
        relabel(words) {
            svg.select('title').text(words);
        },
    };
}

/** A group of the plot that is made once. */
export function layer(plot, name, tag = 'g') {
    const found = plot.select(`.${name}`);
    return found.empty() ? plot.append(tag).attr('class', name) : found;
}

/** Draw an axis into its layer without the fonts and lines d3 brings. */
export function drawAxis(plot, name, axis, transform) {
    const group = layer(plot, name);
    group.attr('transform', transform).call(axis);
    group.attr('font-size', null).attr('font-family', null);
    group.selectAll('.tick text').text((_, i, texts) => texts[i].textContent.replaceAll('-', '−'));
    return group;
}
