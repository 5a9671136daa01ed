/* dom.js -- the few ways in which the pages make and change nodes.
 *
 * Every text goes in as text: nothing here, and nothing else in web/, takes
 * markup from data. Updates keep the nodes that are there and change what
 * differs, so that nothing flickers, selections survive and a screen reader is
 * told only what is new. */

/**
 * A new element. Attributes are set as given; `class` and `text` are short for
 * the obvious, functions under `on...` become listeners.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Node|string)} children
 */
export function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name === 'text') node.textContent = value;
        else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
        else if (value !== null && value !== false) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
}

/** Change a node's text if it differs. */
export function setText(node, text) {
    const wanted = String(text);
    if (node.textContent !== wanted) node.textContent = wanted;
}

const FRAME_MS_MAX = 100; /* a page that nobody sees has no frames */

/** Resolves in a task of its own, so that a slow phone answers a touch in between. */
export const nextTask = () => new Promise((resolve) => { setTimeout(resolve); });

/** The same after a frame was drawn: what was added until now is laid out apart from what comes next. */
export const nextFrame = () => new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, FRAME_MS_MAX);
});

export function show(node, visible) {
    if (node.hidden === visible) node.hidden = !visible;
}

/**
 * A parent whose children follow a list. `create(item)` answers with
 * `{node, update(item)}` the first time a key is seen.
 * @returns {(items: any[]) => void}
 */
export function keyed(parent, keyOf, create) {
    const rows = new Map();
    return (items) => {
        const wanted = new Set(items.map(keyOf));
        /* First what is gone, so that what stays is not moved and keeps the focus. */
        for (const [key, row] of rows) {
            if (!wanted.has(key)) {
                row.node.remove();
                rows.delete(key);
            }
        }
        items.forEach((item, place) => {
            const key = keyOf(item);
            if (!rows.has(key)) rows.set(key, create(item));
            const row = rows.get(key);
            row.update(item);
            if (parent.children[place] !== row.node) {
                parent.insertBefore(row.node, parent.children[place] ?? null);
            }
        });
    };
}

/**
 * A table of texts, the first of each row naming it. A phone shows each row as a
 * block (dashboard.css); the roles say that it is a table all the same.
 * @param {string[]} columns
 * @param {string[][]} rows
 */
export function stackedTable(columns, rows, caption = null) {
    const cell = (text, place) => element('td', { role: 'cell', 'data-label': columns[place + 1] }, element('span', { text }));
    const row = ([name, ...texts]) => element('tr', { role: 'row' },
        element('th', { scope: 'row', role: 'rowheader', text: name }), ...texts.map(cell));
    const head = columns.map((text) => element('th', { scope: 'col', role: 'columnheader', text }));
    return element('table', { role: 'table', class: 'stacked' },
        ...(caption === null ? [] : [element('caption', { text: caption })]),
        element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...head)),
        element('tbody', { role: 'rowgroup' }, ...rows.map(row)));
}

let sections = 0;

/** A section with a heading that names it. */
export function section(title, ...children) {
    const id = `section-${++sections}`;
    return element('section', { 'aria-labelledby': id, class: 'card' },
        element('h2', { id, text: title }), ...children);
}

/** A place for a chart with its heading and a line of words that may change. */
export function figure(title, words = '') {
    const plot = element('div', { class: 'plot' });
    const line = element('span', { class: 'facts', text: words });
    const heading = element('figcaption', {}, element('h3', { text: title }), line);
    return { node: element('figure', {}, heading, plot), plot, words: line };
}
