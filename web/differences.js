/* differences.js -- the guarantee for people who differ in other ways: the lines of
 * the server's words (tremolo_explain_differences) as a table. */
import { element } from './dom.js';

const COLUMNS = ['Two people', 'Distance', 'μ', 'ε', 'Attacker right'];
const LINE = /^(.*\S)\s+distance (\S+)\s+(?:mu (\S+)\s+epsilon (\S+)\s+attacker right (\S+)|no protection)\s*$/;

/** A line of the server's words on other distances, as the cells of a row. */
export function differenceCells(line) {
    const found = LINE.exec(line);
    if (found === null) return [line];
    const [, name, distance, mu, epsilon, right] = found;
    return [name, distance, mu ?? '–', epsilon ?? '–', right ?? 'always: no protection'];
}

function differenceRow(line) {
    const [name, ...cells] = differenceCells(line);
    return element('tr', { role: 'row' }, element('th', { scope: 'row', role: 'rowheader', text: name }),
        ...cells.map((text, i) => element('td', { role: 'cell', 'data-label': COLUMNS[i + 1] }, element('span', { text }))));
}

/** The table of such lines. */
export function differencesTable(lines) {
    const head = COLUMNS.map((text) => element('th', { scope: 'col', role: 'columnheader', text }));
    return element('table', { role: 'table', class: 'stacked' },
        element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...head)),
        element('tbody', { role: 'rowgroup' }, ...lines.map(differenceRow)));
}
