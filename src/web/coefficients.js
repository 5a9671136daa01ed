/* coefficients.js -- the forest plot, its table, and what is not known yet. */
import { element, keyed, section, setText, show } from './dom.js';
import { effects, forest } from './chart/forest.js';
import { number, pValue } from './format.js';
import { coordinates, responseRange } from './study_terms.js';

const TABLE = 'coefficients';
const COLUMNS = ['Coefficient', 'Estimate', 'Standard error', '95% interval', 'p'];

/* A number as people read it, and as it is in its value. */
function setNumber(node, value, text) {
    setText(node, text);
    node.value = value === null ? '' : String(value);
}

/* Where noise hides a coefficient its interval does not hold its level; the
 * score test's set, which does, takes its place. */
function scoreWords({ score }) {
    return score?.shape === 'outside' ? `below ${number(score.low)} or above ${number(score.high)}` : 'anything so far';
}

function tableRow() {
    const name = element('th', { scope: 'row', role: 'rowheader' });
    const parts = Object.fromEntries(['estimate', 'standard_error', 'low', 'high', 'p']
        .map((key) => [key, element('data', { class: key })]));
    const joint = element('span', { text: ' to ' });
    const hidden = element('span', { class: 'waiting' });
    const cell = (label, ...nodes) => element('td', { role: 'cell', 'data-label': label }, ...nodes);
    return {
        node: element('tr', { role: 'row' }, name, cell(COLUMNS[1], parts.estimate), cell(COLUMNS[2], parts.standard_error),
            cell(COLUMNS[3], parts.low, joint, parts.high, hidden), cell(COLUMNS[4], parts.p)),
        update(row) {
            setText(name, row.name);
            for (const [key, node] of Object.entries(parts)) {
                setNumber(node, row[key], key === 'p' ? pValue(row.identified ? row.p : null) : number(row[key]));
            }
            for (const node of [parts.low, joint, parts.high]) show(node, row.identified);
            setText(hidden, row.identified ? '' : scoreWords(row));
        },
    };
}

/* A phone shows each row as a block (dashboard.css); the roles say that it is
 * a table all the same. */
function table(study, unit) {
    const body = element('tbody', { role: 'rowgroup' });
    const head = COLUMNS.map((text) => element('th', { scope: 'col', role: 'columnheader', text }));
    const node = element('table', { id: TABLE, role: 'table', class: 'stacked' },
        element('caption', { text: `What one more unit of each does to ${study.response.name}${unit}, all others equal` }),
        element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...head)), body);
    return { node, update: keyed(body, (row) => row.name, tableRow) };
}

/* What the noise still hides, in the server's words. */
function unclearList() {
    const node = element('ul', { class: 'unclear' });
    const update = keyed(node, (words) => words, (words) => ({ node: element('li', { text: `${words}.` }), update() {} }));
    return {
        node,
        update(sentences) {
            update(sentences);
            show(node, sentences.length > 0);
        },
    };
}

function describe(row) {
    return row.middle === null ? `${row.name}: not identified yet`
        : `${row.name}: ${number(row.middle)}, between ${number(row.low)} and ${number(row.high)}`;
}

/* The protocol counts rounds from 0, people from 1. */
function sourceSentence({ inference, rounds }) {
    const from = inference.round === null ? 'all rounds' : `round ${inference.round + 1} of ${rounds}`;
    return inference.why === null ? '' : `The table is made from ${from}: ${inference.why}.`;
}

export function coefficientsSection(study) {
    const unit = study.response.unit ? ` (${study.response.unit})` : '';
    const plotted = element('div', { class: 'plot' });
    const rows = table(study, unit);
    const unclear = unclearList();
    const source = element('p', { class: 'facts' });
    const plot = forest(plotted, 'Forest plot: each coefficient over its feature’s whole range, with its interval', TABLE);
    const axes = coordinates(study);
    return {
        node: section('What the reports say', unclear.node,
            element('p', { class: 'facts', text: `How much ${study.response.name}${unit} changes while a feature goes from its lowest to its highest value, with 95% intervals. Blue ones exclude zero.` }),
            plotted, rows.node, source),
        update({ estimate }) {
            unclear.update(estimate.remark === null ? estimate.not_identified : [estimate.remark]);
            rows.update(estimate.coefficients);
            plot.update({ rows: effects(estimate.coefficients, axes), limit: 2 * responseRange(study),
                axis: `change of ${study.response.name}${unit}`, describe });
            setText(source, sourceSentence(estimate));
            show(source, estimate.inference.why !== null);
        },
    };
}
