/* tails.js -- how far reports reach, beside the law of honest ones. */
import { element, keyed, setText, show } from '../common/dom.js';
import { count, number, pValue } from '../common/format.js';

/* A row of a heading and so many cells, filled with texts. */
function row(cells) {
    const nodes = [element('th', { scope: 'row' }), ...Array.from({ length: cells }, () => element('td'))];
    return { node: element('tr', {}, ...nodes), fill: (texts) => texts.forEach((text, i) => setText(nodes[i], text)) };
}

function tailRow() {
    const { node, fill } = row(2);
    return { node, update: ({ name, expected, seen }) => fill([name, `at most ${number(expected)}`, count(seen)]) };
}

function robustRow() {
    const { node, fill } = row(3);
    return {
        node,
        update: (one) => fill([one.name, number(one.estimate), number(one.standard_error), pValue(one.identified ? one.p : null)]),
    };
}

function table(caption, titles, makeRow) {
    const body = element('tbody');
    const head = element('tr', {}, ...titles.map((text) => element('th', { scope: 'col', text })));
    const node = element('table', {}, element('caption', { text: caption }), element('thead', {}, head), body);
    return { node, update: keyed(body, (one) => one.name, makeRow) };
}

function rowsOf({ norms, coordinates }) {
    return [...norms.map((one) => ({ ...one, name: `all values together, beyond ${number(one.beyond)}` })),
        ...coordinates.map((one) => ({ ...one, name: `${one.name}, ${one.side}, beyond ${number(one.beyond)}` }))];
}

function sentence({ alarm, set_aside: setAside }) {
    if (!alarm) return 'Nothing here is beyond what honest devices send.';
    return 'Some reports are no honest device\u2019s: honest ones look like this, at one look, with a probability below one in a million. '
        + `Without the ${count(setAside)} beyond honest noise the coefficients are those below.`;
}

/** How far reports reach: `node` for whoever looks closer, `alarm` for everybody when some are no honest
 * device's. */
export function tailsPart() {
    const words = element('p', { id: 'tails' });
    const tails = table('Reports that reach farther than so many times the usual noise',
        ['Where', 'Expected of honest devices', 'Seen'], tailRow);
    const robust = table('Coefficients without the reports beyond honest noise',
        ['Coefficient', 'Estimate', 'Standard error', 'p'], robustRow);
    const node = element('div', {}, element('h3', { text: 'How far reports reach' }), words, tails.node);
    const alarmWords = element('p', { class: 'caution' });
    const alarm = element('div', { class: 'card' }, element('h2', { text: 'Some reports are not honest' }), alarmWords, robust.node);
    show(alarm, false);
    return {
        node,
        alarm,
        update({ tails: told }) {
            show(node, Boolean(told));
            show(alarm, Boolean(told?.alarm));
            if (!told) return;
            setText(words, told.alarm ? '' : sentence(told));
            show(words, !told.alarm);
            setText(alarmWords, told.alarm ? sentence(told) : '');
            tails.update(rowsOf(told));
            robust.update(told.robust ?? []);
            show(robust.node, told.robust !== null);
        },
    };
}
