/* coefficients.js -- the forest plot, its table, and what is not known yet. */
import { element, keyed, section, setText, show } from './dom.js';
import { effects, forest } from './forest.js';
import { number, pValue } from './format.js';
import { coordinates, responseRange } from './study_terms.js';

const TABLE = 'coefficients';
const COLUMNS = ['Coefficient', 'Estimate', 'Standard error', '95% interval', 'p'];

function tableRow() {
    const name = element('th', { scope: 'row' });
    const cells = COLUMNS.slice(1).map(() => element('td'));
    return {
        node: element('tr', {}, name, ...cells),
        update(row) {
            setText(name, row.name);
            const interval = row.identified ? `${number(row.low)} to ${number(row.high)}` : 'not identified yet';
            [number(row.estimate), number(row.standard_error), interval, pValue(row.p)]
                .forEach((text, i) => setText(cells[i], text));
        },
    };
}

function table(caption) {
    const body = element('tbody');
    const head = element('tr', {}, ...COLUMNS.map((text) => element('th', { scope: 'col', text })));
    const node = element('table', { id: TABLE }, element('caption', { text: caption }),
        element('thead', {}, head), body);
    return { node, update: keyed(body, (row) => row.name, tableRow) };
}

export function coefficientsSection(study) {
    const unit = study.response.unit ? ` (${study.response.unit})` : '';
    const plotted = element('div', { class: 'plot' });
    const rows = table(`What explains ${study.response.name}${unit}, with all the others held equal`);
    const unclear = element('ul', { class: 'unclear' });
    const updateUnclear = keyed(unclear, (words) => words, (words) => (
        { node: element('li', { text: words }), update() {} }));
    const plot = forest(plotted, `Forest plot of the coefficients; the table “${TABLE}” has the numbers`, TABLE);
    const axes = coordinates(study);
    const describe = (row) => `${row.name}: ${number(row.middle)}, interval ${number(row.low)} to ${number(row.high)}`;
    return {
        node: section('What the reports say', unclear, plotted,
            element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Coefficients' }, rows.node)),
        update({ estimate }) {
            updateUnclear(estimate.not_identified);
            show(unclear, estimate.not_identified.length > 0);
            rows.update(estimate.coefficients);
            plot.update({
                rows: effects(estimate.coefficients, axes),
                limit: 2 * responseRange(study),
                axis: `change of ${study.response.name}${unit} from a feature’s lowest to its highest value`,
                describe,
            });
        },
    };
}
