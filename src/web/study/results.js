/* results.js -- coefficients in one panel: a table in whose rows the intervals are drawn.
 *
 * Everything comes from an estimate's document, so the study's page and a saved result have the same
 * panel. One switch says what numbers, axis and caption are about: a feature's whole range, over which
 * effects can be compared and so share an axis, or one more unit of it. A year and a thousand steps cannot be
 * compared: on one axis the smaller slope would look like nothing. So per unit every row has a scale
 * of its own, with zero in the middle, and the head says so. What the noise still
 * hides has no numbers and is folded away. Places in the drawings are percentages of the column, so
 * that nothing has to be measured; the axis stands in the table's head and stays in sight. */
import scaleLinear from 'd3-scale/src/linear.js';
import { element, keyed, setText, show } from '../common/dom.js';
import { count, decimalsOf, number, pValue, roundedTo } from '../common/format.js';
import { featureRows, isTold, ofOne } from './learnt.js';

const MANY = 8; /* rows from which sorting and searching help */
const TICKS = 4;
const SVG = 'http://www.w3.org/2000/svg';
const WHOLE = 'range';
const UNIT = 'unit';

const SORTS = {
    listed: { name: 'as listed', by: (a, b) => a.place - b.place },
    size: { name: 'largest first', by: (a, b) => Math.abs(b.middle ?? 0) - Math.abs(a.middle ?? 0) },
    p: { name: 'most certain first', by: (a, b) => (a.row.p ?? 1) - (b.row.p ?? 1) },
    name: { name: 'by name', by: (a, b) => a.row.name.localeCompare(b.row.name) },
};

/* ---------------------------------------------------------------- numbers */

/** A document's row in the chosen unit. */
function effect(row, place, mode) {
    const by = mode === WHOLE ? row.range ?? 1 : 1;
    const known = row.identified && row.low !== null && row.high !== null;
    const times = (value) => (known && value !== null ? value * by : null);
    return { row, place, known, middle: times(row.estimate), error: times(row.standard_error), low: times(row.low), high: times(row.high) };
}

/** The axis: all that is known and zero, but not more than the limit either way. */
export function domainOf(effects, limit) {
    const ends = effects.filter((one) => one.known).flatMap((one) => [one.low, one.high])
        .map((end) => Math.max(-limit, Math.min(limit, end)));
    return ends.length > 0 ? [Math.min(...ends, 0), Math.max(...ends, 0)] : [-1, 1];
}

/* Units that are alike can share an axis. */
const areAlike = (rows) => rows.every((row) => row.range === rows[0].range && (row.unit ?? '') === (rows[0].unit ?? ''));

/* A row's own axis: zero in the middle, its farther end at a side. */
function ownDomain({ low, high }) {
    const reach = Math.max(Math.abs(low), Math.abs(high)) || 1;
    return [-reach, reach];
}

/** "−0.54" as what stands before the point, and behind it with so much room that points align. */
export function setAligned(node, value, error, decimalsMost) {
    const text = value === null ? '–' : roundedTo(value, error);
    const [, digits = ''] = text.split('.');
    const lacking = Math.max(0, decimalsMost - digits.length) + (digits === '' && decimalsMost > 0 ? 1 : 0);
    const key = `${text}|${lacking}`;
    if (node.dataset.key === key) return;
    node.dataset.key = key;
    node.value = value === null ? '' : String(value);
    node.replaceChildren(text, element('span', { class: 'room', 'aria-hidden': 'true', text: '0'.repeat(lacking) }));
}

/* Where noise hides a coefficient its interval does not hold its level; the
 * score test's set, which does, takes its place. */
function hiddenWords({ score }, by) {
    return score?.shape === 'outside' && score.low !== null && score.high !== null
        ? `below ${number(score.low * by, 3)} or above ${number(score.high * by, 3)}` : 'could be anything so far';
}

/* ---------------------------------------------------------------- drawing */

function shape(tag, attributes = {}) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
}

const at = (scale, value) => `${Math.round(scale(value) * 1e4) / 1e4}%`;

/* One interval: a bar with caps, or an arrow where it leaves the axis. */
function interval() {
    const svg = shape('svg', { class: 'interval-plot', 'aria-hidden': 'true', focusable: 'false' });
    const zero = svg.appendChild(shape('line', { class: 'zero', y1: '0', y2: '100%' }));
    const bar = svg.appendChild(shape('rect', { class: 'interval', y: '50%', height: '3', transform: 'translate(0 -1.5)' }));
    const caps = ['from', 'to'].map((end) => svg.appendChild(shape('rect', { class: `cap ${end}`, y: '50%', height: '12', width: '2', transform: 'translate(-1 -6)' })));
    const dot = svg.appendChild(shape('circle', { class: 'middle', cy: '50%', r: '5' }));
    return {
        svg,
        place(one, scale) {
            const [least, most] = scale.domain();
            const within = (value) => Math.max(least, Math.min(most, value));
            const from = scale(within(one.low));
            const to = scale(within(one.high));
            zero.setAttribute('x1', at(scale, 0));
            zero.setAttribute('x2', at(scale, 0));
            bar.setAttribute('x', `${from}%`);
            bar.setAttribute('width', `${Math.max(0, to - from)}%`);
            [[caps[0], one.low, from], [caps[1], one.high, to]].forEach(([cap, value, x]) => {
                cap.setAttribute('x', `${x}%`);
                cap.setAttribute('visibility', value === within(value) ? 'visible' : 'hidden');
            });
            dot.setAttribute('cx', at(scale, within(one.middle)));
        },
    };
}

/* The axis of all rows, with words for its ticks; or that there is none. */
function axis() {
    const svg = shape('svg', { class: 'interval-axis', 'aria-hidden': 'true', focusable: 'false' });
    const words = element('span', { class: 'own-scale', text: 'each row on its own scale, zero in the middle' });
    return {
        nodes: [svg, words],
        place(scale) {
            svg.toggleAttribute('hidden', scale === null);
            show(words, scale === null);
            if (scale === null) return;
            const [least, most] = scale.domain();
            const key = `${least} ${most}`;
            if (svg.dataset.key === key) return;
            svg.dataset.key = key;
            const ticks = scale.ticks(TICKS);
            const anchor = (x) => (x < 6 ? 'start' : x > 94 ? 'end' : 'middle');
            svg.replaceChildren(...ticks.flatMap((tick) => {
                const label = shape('text', { x: at(scale, tick), y: '12', 'text-anchor': anchor(scale(tick)) });
                label.textContent = number(tick);
                return [label, shape('line', { x1: at(scale, tick), x2: at(scale, tick), y1: '17', y2: '22' })];
            }));
        },
    };
}

/* ---------------------------------------------------------------- rows */

const cell = (label, ...nodes) => element('td', { role: 'cell', class: label, 'data-label': label }, ...nodes);

/* What the number is, where the table's head is not seen. Not a "±": that would read as the interval's half. */
const errorLabel = (text = 's.e. ') => element('span', { 'aria-hidden': 'true', class: 'error-label', text });

/* Over what the number is: "over 58 years", "per year", "yes rather than no". */
function overWhat({ from, to, unit, range }, mode) {
    if ((to ?? null) !== null) return `${to} rather than ${from}`;
    if (mode === WHOLE && range !== null) return `over ${number(range)}${unit ? ` ${unit}` : ''}`;
    return unit ? `per ${ofOne(unit)}` : '';
}

/* A name, and over what its number is. */
function nameCell() {
    const name = element('bdi');
    const unit = element('span', { class: 'unit', dir: 'auto' });
    return {
        node: element('th', { scope: 'row', role: 'rowheader' }, name, ' ', unit),
        update(row, mode) {
            setText(name, row.name);
            setText(unit, mode === null ? '' : overWhat(row, mode));
        },
    };
}

function knownRow() {
    const name = nameCell();
    const drawn = interval();
    const parts = Object.fromEntries(['estimate', 'standard_error', 'low', 'high', 'p'].map((key) => [key, element('data', { class: key })]));
    const spoken = element('span', { class: 'unseen' }, 'between ', parts.low, ' and ', parts.high);
    const node = element('tr', { role: 'row', class: 'known' }, name.node, cell('plotted', drawn.svg, spoken),
        cell('value', parts.estimate), cell('error', errorLabel(), parts.standard_error), cell('chance', errorLabel('p '), parts.p));
    return {
        node,
        update({ one, scale, decimals, mode }) {
            name.update(one.row, mode);
            node.classList.toggle('decided', isTold(one.row));
            drawn.place(one, scale);
            setAligned(parts.estimate, one.middle, one.error, decimals);
            setAligned(parts.standard_error, one.error, one.error, decimals);
            for (const key of ['low', 'high']) {
                setText(parts[key], roundedTo(one[key], one.error));
                parts[key].value = String(one[key]);
            }
            setText(parts.p, pValue(one.row.p));
            parts.p.value = one.row.p === null ? '' : String(one.row.p);
        },
    };
}

function hiddenRow() {
    const name = nameCell();
    const words = element('td', { role: 'cell', class: 'hidden-words', colspan: '4' });
    return {
        node: element('tr', { role: 'row', class: 'unknown' }, name.node, words),
        update({ one, by, mode }) {
            name.update(one.row, mode);
            setText(words, hiddenWords(one.row, by));
        },
    };
}

function interceptRow() {
    const name = nameCell();
    const value = element('data', { class: 'estimate' });
    const error = element('data', { class: 'standard_error' });
    const low = element('data', { class: 'low' });
    const high = element('data', { class: 'high' });
    const p = element('data', { class: 'p' });
    const between = element('span', { class: 'facts' }, 'between ', low, ' and ', high);
    const node = element('tr', { role: 'row' }, name.node, cell('plotted', between), cell('value', value),
        cell('error', errorLabel(), error), cell('chance', errorLabel('p '), p));
    return {
        node,
        update(row, decimals) {
            name.update({ ...row, name: 'Where every feature is 0' }, null);
            show(between, row.identified);
            setAligned(value, row.estimate, row.standard_error, decimals);
            setAligned(error, row.standard_error, row.standard_error, decimals);
            for (const [node2, end] of [[low, row.low], [high, row.high]]) {
                setText(node2, roundedTo(end, row.standard_error));
                node2.value = end === null ? '' : String(end);
            }
            setText(p, pValue(row.identified ? row.p : null));
            p.value = row.p === null ? '' : String(row.p);
        },
    };
}

/* ---------------------------------------------------------------- controls */

/* Two radio buttons as one switch. */
function modeSwitch(name, change) {
    const option = (value, text, checked) => {
        const input = element('input', { type: 'radio', name, value, ...(checked && { checked: '' }), onchange: () => change(value) });
        return element('label', {}, input, element('span', { text }));
    };
    return element('fieldset', { class: 'switch' }, element('legend', { class: 'unseen', text: 'Numbers are' }),
        option(WHOLE, 'over the whole range', true), option(UNIT, 'per unit', false));
}

function sortChoice(change) {
    return element('label', { class: 'sort' }, 'Sort ', element('select', { onchange: (event) => change(event.target.value) },
        ...Object.entries(SORTS).map(([value, { name }]) => element('option', { value, text: name }))));
}

let panels = 0;

/* ---------------------------------------------------------------- panel */

/* A ballot's range in a study is the typical one; everywhere else it is all that there is. */
function captionOf({ response, level, release, study }, mode) {
    const unit = response.unit ? [' (', { name: response.unit }, ')'] : [];
    const range = release === 'ballot' && study !== null ? 'through its typical range' : 'from its lowest to its highest value';
    const change = mode === WHOLE ? `while a feature goes ${range}` : 'with one more unit of a feature';
    return ['How much ', { name: response.name }, ...unit, ` changes ${change}, all others equal, with ${number(100 * level, 3)}% intervals. Blue ones exclude zero.`];
}

/** The panel; `update(document)` fills it. `id` names its table. */
export function resultsPanel(id = 'coefficients') {
    const number_ = ++panels;
    let mode = WHOLE;
    let sort = 'listed';
    let wanted = '';
    let open = false;
    let shown = null;
    const again = () => { if (shown !== null) update(shown); };

    const caption = element('caption');
    const top = axis();
    const head = element('tr', { role: 'row' }, element('th', { scope: 'col', role: 'columnheader', text: 'Feature' }),
        element('th', { scope: 'col', role: 'columnheader', class: 'plotted' }, element('span', { class: 'unseen', text: 'Interval' }), ...top.nodes),
        element('th', { scope: 'col', role: 'columnheader', class: 'value', text: 'Estimate' }),
        element('th', { scope: 'col', role: 'columnheader', class: 'error', text: 'Std. error' }),
        element('th', { scope: 'col', role: 'columnheader', class: 'chance', text: 'p' }));
    const body = element('tbody', { role: 'rowgroup' });
    const hidden = element('tbody', { role: 'rowgroup', id: `${id}-hidden`, class: 'hidden-rows' });
    const foldWords = element('span');
    const fold = element('button', { type: 'button', class: 'chip', 'aria-expanded': 'false', 'aria-controls': hidden.id, onclick: () => { open = !open; again(); } }, foldWords);
    const foldBody = element('tbody', { role: 'rowgroup', class: 'fold' }, element('tr', { role: 'row' }, element('td', { role: 'cell', colspan: '5' }, fold)));
    const intercept = interceptRow();
    const foot = element('tfoot', { role: 'rowgroup' }, intercept.node);
    const table = element('table', { id, role: 'table', class: 'results' }, caption, element('thead', { role: 'rowgroup' }, head), body, foldBody, hidden, foot);
    const choice = modeSwitch(`mode-${number_}`, (value) => { mode = value; again(); });
    const sorting = sortChoice((value) => { sort = value; again(); });
    const search = element('input', { type: 'search', class: 'filter', placeholder: 'Find a feature', 'aria-label': 'Find a feature', oninput: (event) => { wanted = event.target.value.trim().toLowerCase(); again(); } });
    const tools = element('div', { class: 'tools' }, choice, sorting, search);
    const none = element('p', { class: 'facts', role: 'status' });
    const updateKnown = keyed(body, (item) => item.one.row.name, knownRow);
    const updateHidden = keyed(hidden, (item) => item.one.row.name, hiddenRow);

    function setCaption(given) {
        const parts = captionOf(given, mode);
        const text = parts.map((part) => part.name ?? part).join('');
        if (caption.textContent !== text) caption.replaceChildren(...parts.map((part) => (typeof part === 'string' ? part : element('bdi', { text: part.name }))));
    }

    function setFold(count_, all, yet) {
        show(foldBody, count_ > 0);
        show(hidden, open && count_ > 0);
        fold.setAttribute('aria-expanded', String(open));
        setText(foldWords, count_ === all ? `${all === 1 ? 'It is not' : `None of the ${count(all)} is`} visible through the noise${yet}`
            : `${count(count_)} ${count_ === 1 ? 'is' : 'are'} not visible through the noise${yet}`);
    }

    function update(given) {
        shown = given;
        const rows = featureRows(given);
        const ranged = rows.length > 0 && rows.every((row) => row.range !== null);
        if (!ranged) mode = UNIT;
        show(choice, ranged);
        show(sorting, rows.length > MANY);
        show(search, rows.length > MANY);
        const anyKnown = rows.some((row) => row.identified);
        show(tools, anyKnown && (ranged || rows.length > MANY));
        show(caption, anyKnown);
        show(table, rows.length > 0);
        setText(none, rows.length > 0 || given.state === 'done' ? '' : 'Coefficients appear here once they can be told from the noise.');
        show(none, none.textContent !== '');
        if (rows.length === 0) return;
        setCaption(given);
        const effects = rows.map((row, place) => effect(row, place, mode));
        const limit = mode === WHOLE && given.response.range ? 2 * given.response.range : Infinity;
        const shared = mode === WHOLE || areAlike(rows) ? scaleLinear().domain(domainOf(effects, limit)).nice(TICKS).range([0, 100]) : null;
        const scaleOf = (one) => shared ?? scaleLinear().domain(ownDomain(one)).range([0, 100]);
        const finds = (one) => one.row.name.toLowerCase().includes(wanted);
        const found = effects.filter((one) => wanted === '' || finds(one)).sort(SORTS[sort].by);
        const known = found.filter((one) => one.known);
        const unknown = found.filter((one) => !one.known);
        const last = given.coefficients.at(-1);
        const errors = [...effects.map((one) => one.error), last.standard_error].filter((error) => error !== null);
        const decimals = Math.min(8, Math.max(0, ...errors.map(decimalsOf)));
        top.place(shared);
        show(head, known.length > 0);
        updateKnown(known.map((one) => ({ one, scale: scaleOf(one), decimals, mode })));
        updateHidden(unknown.map((one) => ({ one, by: mode === WHOLE ? one.row.range ?? 1 : 1, mode })));
        setFold(unknown.length, effects.length, given.state === 'done' ? '' : ' yet');
        show(foot, last.identified);
        intercept.update(last, decimals);
        setText(none, found.length === 0 ? `No feature’s name contains “${wanted}”.` : '');
        show(none, found.length === 0);
    }

    return { node: element('div', { class: 'results-panel' }, tools, table, none), update };
}
