/* save.js -- a chart as a picture and as a table, to take along.
 *
 * The picture carries its looks itself: what the page's style sheet says about each part is
 * written down as an attribute. */
import { element } from '../common/dom.js';

const LOOKS = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin',
    'opacity', 'visibility', 'font-family', 'font-size', 'font-weight', 'text-anchor'];
const SVG = 'http://www.w3.org/2000/svg';

/* All but opacity come from the parent where nothing else is said. */
function keepLooks(copy, original, parent = null) {
    copy.removeAttribute('class');
    if (original.classList.contains('cross')) {
        copy.replaceChildren();
        return;
    }
    const style = getComputedStyle(original);
    for (const name of LOOKS) {
        const value = style.getPropertyValue(name);
        const given = name === 'opacity' ? '1' : parent?.getPropertyValue(name);
        copy.removeAttribute(name);
        if (value !== given) copy.setAttribute(name, value);
    }
    [...original.children].forEach((child, i) => keepLooks(copy.children[i], child, style));
}

function shape(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
}

/* A copy that carries its looks. */
function copyOf(svg) {
    const copy = svg.cloneNode(true);
    keepLooks(copy, svg);
    return copy;
}

/* A picture as text, on the ground that it has in the page. */
function written(picture, original) {
    const fill = getComputedStyle(original.closest('.card') ?? document.body).backgroundColor;
    picture.insertBefore(shape('rect', { width: '100%', height: '100%', fill }), picture.firstChild);
    picture.setAttribute('xmlns', SVG);
    return new XMLSerializer().serializeToString(picture);
}

const pictureOf = (svg) => written(copyOf(svg), svg);

const ACROSS = 3; /* charts side by side */
const HEADING = 28;
const GAP = 16;

/** Several charts as one picture, each below its name: `charts` are {name, svg}. */
export function pictureOfMany(charts) {
    const width = Math.max(...charts.map(({ svg }) => svg.width.baseVal.value));
    const height = HEADING + Math.max(...charts.map(({ svg }) => svg.height.baseVal.value));
    const across = Math.min(ACROSS, charts.length);
    const down = Math.ceil(charts.length / across);
    const size = { width: across * (width + GAP) + GAP, height: down * (height + GAP) + GAP };
    const all = shape('svg', { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
    charts.forEach(({ name, svg }, i) => {
        const [x, y] = [GAP + (i % across) * (width + GAP), GAP + Math.floor(i / across) * (height + GAP)];
        const { fontFamily, color } = getComputedStyle(svg);
        const title = shape('text', { x, y: y + HEADING / 2, fill: color, 'font-family': fontFamily, 'font-size': 15, 'font-weight': 600 });
        title.textContent = name;
        const copy = copyOf(svg);
        copy.setAttribute('x', x);
        copy.setAttribute('y', y + HEADING);
        all.append(title, copy);
    });
    return written(all, charts[0].svg);
}

/* A text that a spreadsheet must not take for a formula gets an apostrophe. */
function quoted(text) {
    const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

const cellOf = (value) => (value === null || value === undefined || !Number.isFinite(value) ? '' : String(value));

/** The lines as a table: a row for each place, a column for each line, and two for its band. */
export function tableOf({ series, x = 'x' }) {
    const banded = series.map((one) => one.points.some((point) => Number.isFinite(point.low ?? NaN)));
    const head = [x, ...series.flatMap((one, i) => (banded[i] ? [one.name, `${one.name} low`, `${one.name} high`] : [one.name]))];
    const places = [...new Set(series.flatMap((one) => one.points.map((point) => +point.x)))].sort((a, b) => a - b);
    const rows = places.map((at) => [String(at), ...series.flatMap((one, i) => {
        const point = one.points.find((candidate) => +candidate.x === at) ?? {};
        return banded[i] ? [cellOf(point.y), cellOf(point.low), cellOf(point.high)] : [cellOf(point.y)];
    })]);
    return [head.map(quoted), ...rows].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function download(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = element('a', { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

const fileName = (label, ending) => `${label.toLowerCase().split(';')[0].replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chart'}.${ending}`;

/** Two buttons. `svg()` is the chart, or a picture that is written already; `lines()` what it shows, null while it shows
 * nothing. */
export function saveButtons(label, svg, lines) {
    const picture = () => { const it = svg(); return typeof it === 'string' ? it : pictureOf(it); };
    const button = (words, ending, run) => element('button', { type: 'button', class: 'save', text: words,
        'aria-label': `Save as ${words}: ${label.split(';')[0]}`, onclick: () => lines() && download(fileName(label, ending), ...run()) });
    return element('p', { class: 'saving' }, element('span', { text: 'Save as ', 'aria-hidden': 'true' }),
        button('SVG', 'svg', () => ['image/svg+xml', picture()]), ' ',
        button('CSV', 'csv', () => ['text/csv', tableOf(lines())]));
}
