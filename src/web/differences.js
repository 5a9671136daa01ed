/* differences.js -- the guarantee for people who differ in other ways: the lines of
 * the server's words (tremolo_explain_differences) as a table. */
import { stackedTable } from './dom.js';

const COLUMNS = ['Two people', 'Distance', 'μ', 'ε', 'Attacker right'];
const LINE = /^(.*\S)\s+distance (\S+)\s+(?:mu (\S+)\s+epsilon (\S+)\s+attacker right (\S+)|no protection)\s*$/;

/** A line of the server's words on other distances, as the cells of a row. */
export function differenceCells(line) {
    const found = LINE.exec(line);
    if (found === null) return [line];
    const [, name, distance, mu, epsilon, right] = found;
    return [name, distance, mu ?? '–', epsilon ?? '–', right ?? 'always: no protection'];
}

/** The table of such lines. */
export function differencesTable(lines) {
    return stackedTable(COLUMNS, lines.map(differenceCells));
}
