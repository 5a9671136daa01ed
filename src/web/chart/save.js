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

function pictureOf(svg) {
    const copy = svg.cloneNode(true);
    keepLooks(copy, svg);
    copy.setAttribute('xmlns', SVG);
    const ground = document.createElementNS(SVG, 'rect');
    ground.setAttribute('width', '100%');
    ground.setAttribute('height', '100%');
    ground.setAttribute('fill', getComputedStyle(svg.closest('.card') ?? document.body).backgroundColor);
    copy.insertBefore(ground, copy.firstChild);
    return new XMLSerializer().serializeToString(copy);
}

/* A text that a spreadsheet must not take for a formula gets an apostrophe. */
function quoted(text) {
    const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

const written = (value) => (value === null || value === undefined || !Number.isFinite(value) ? '' : String(value));

/** The lines as a table: a row for each place, a column for each line, and two for its band. */
export function tableOf({ series, x = 'x' }) {
    const banded = series.map((one) => one.points.some((point) => Number.isFinite(point.low ?? NaN)));
    const head = [x, ...series.flatMap((one, i) => (banded[i] ? [one.name, `${one.name} low`, `${one.name} high`] : [one.name]))];
    const places = [...new Set(series.flatMap((one) => one.points.map((point) => +point.x)))].sort((a, b) => a - b);
    const rows = places.map((at) => [String(at), ...series.flatMap((one, i) => {
        const point = one.points.find((candidate) => +candidate.x === at) ?? {};
        return banded[i] ? [written(point.y), written(point.low), written(point.high)] : [written(point.y)];
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

/** Two buttons. `svg()` is the picture, `lines()` what it shows, null while it shows nothing. */
export function saveButtons(label, svg, lines) {
    const button = (words, ending, run) => element('button', { type: 'button', class: 'save', text: words,
        'aria-label': `Save as ${words}: ${label.split(';')[0]}`, onclick: () => lines() && download(fileName(label, ending), ...run()) });
    return element('p', { class: 'saving' }, element('span', { text: 'Save as ', 'aria-hidden': 'true' }),
        button('SVG', 'svg', () => ['image/svg+xml', pictureOf(svg())]), ' ',
        button('CSV', 'csv', () => ['text/csv', tableOf(lines())]));
}
