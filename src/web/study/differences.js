/* differences.js -- the guarantee for people who differ in other ways, as a table. */
import { stackedTable } from '../common/dom.js';
import { atMost, cost } from '../common/format.js';

const COLUMNS = ['Two people', 'μ', 'ε', 'Attacker right'];

/** A row of the guarantee's differences as cells, in the features' own units; no epsilon means no protection. */
export function differenceCells({ name, words, mu, epsilon, attacker_right: right }) {
    return [words ? `${name}, ${words}` : name, cost(mu), cost(epsilon),
        epsilon === null ? 'always: no protection' : atMost(right)];
}

/** The table of such rows. */
export function differencesTable(rows) {
    return stackedTable(COLUMNS, rows.map(differenceCells));
}
