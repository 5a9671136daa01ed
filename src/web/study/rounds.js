/* rounds.js -- how an iterative study moves: how far each round starts from where it would come to rest, and
 * where the coefficients stand, as changes of the response over a feature's whole range. */
import { element, figure, keyed, section, setText } from '../common/dom.js';
import { count, moment, number } from '../common/format.js';
import { gradientSentence } from './learnt.js';
import { lineChart } from '../chart/lines.js';
import { coordinates, responseRange } from '../common/study_terms.js';

const TABLE = 'rounds';

/* The protocol's coefficients go from the middle of a range to its end, on both sides of the equation: over the
 * whole range they change the response by so much of its own. */
const inOwnUnits = (beta, range) => beta.map((one) => one * range);

function roundRow(range) {
    const name = element('th', { scope: 'row' });
    const cells = [0, 1, 2, 3].map(() => element('td'));
    return {
        node: element('tr', {}, name, ...cells),
        update(round) {
            setText(name, String(round.round + 1));
            const closed = round.closed === null ? 'open' : moment(round.closed);
            const largest = round.beta ? Math.max(...inOwnUnits(round.beta, range).map(Math.abs)) : null;
            [count(round.reports), number(round.gradient_norm), number(largest), closed]
                .forEach((text, i) => setText(cells[i], text));
        },
    };
}

function roundTable(range, unit) {
    const body = element('tbody');
    const head = ['Round', 'Reports', 'Gradient', `Largest change${unit}`, 'Closed'];
    const node = element('table', { id: TABLE },
        element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col', text })))), body);
    return { node, update: keyed(body, (round) => round.round, () => roundRow(range)) };
}

export function roundsSection(study) {
    const names = coordinates(study).map((coordinate) => coordinate.name);
    const range = responseRange(study);
    const { name: response, unit } = study.response;
    const size = 'The gradient’s size where each round starts; noise included, so it never reaches zero.';
    const gradient = figure('How far there is to go', size);
    const steps = figure('Where each round starts', `How much ${response} changes over a feature’s whole range.`);
    const gradientChart = lineChart(gradient.plot, 'Size of the gradient in each round', 220, TABLE);
    const stepsChart = lineChart(steps.plot, 'Coefficients at the start of each round', 220, TABLE);
    const table = roundTable(range, unit ? `, ${unit}` : '');
    return {
        node: section('Rounds', element('div', { class: 'pair' }, gradient.node, steps.node),
            element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of rounds' }, table.node)),
        update({ history }) {
            const { rounds } = history;
            setText(gradient.words, `${size} ${gradientSentence(rounds)}`.trim());
            gradientChart.update({ dots: true, whole: true, include: [0], x: 'round', y: 'size of the gradient, without a unit', series: [{ name: 'gradient',
                points: rounds.map((round) => ({ x: round.round + 1, y: round.gradient_norm })) }] });
            stepsChart.update({ dots: rounds.length < 30, whole: true, include: [0], x: 'round', y: `change of ${response}${unit ? `, ${unit}` : ''}`, series: names.map((name, i) => (
                { name, points: rounds.map((round) => ({ x: round.round + 1, y: round.beta ? inOwnUnits(round.beta, range)[i] : null })) })) });
            table.update(rounds);
        },
    };
}
