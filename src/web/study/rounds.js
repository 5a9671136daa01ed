/* rounds.js -- how an iterative study moves: the gradient's size at the start
 * of each round, and where the coefficients stand. */
import { element, figure, keyed, section, setText } from '../common/dom.js';
import { count, moment, number } from '../common/format.js';
import { lineChart } from '../chart/lines.js';
import { coordinates } from '../common/study_terms.js';

const TABLE = 'rounds';

function roundRow() {
    const name = element('th', { scope: 'row' });
    const cells = [0, 1, 2, 3].map(() => element('td'));
    return {
        node: element('tr', {}, name, ...cells),
        update(round) {
            setText(name, String(round.round + 1));
            const closed = round.closed === null ? 'open' : moment(round.closed);
            const length = round.beta ? Math.hypot(...round.beta) : null;
            [count(round.reports), number(round.gradient_norm), number(length), closed]
                .forEach((text, i) => setText(cells[i], text));
        },
    };
}

function roundTable() {
    const body = element('tbody');
    const head = ['Round', 'Reports', 'Gradient', 'Length of the coefficients', 'Closed'];
    const node = element('table', { id: TABLE },
        element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col', text })))), body);
    return { node, update: keyed(body, (round) => round.round, roundRow) };
}

export function roundsSection(study) {
    const names = coordinates(study).map((coordinate) => coordinate.name);
    const gradient = figure('Gradient', 'its size at the coefficients the round starts from; noise included');
    const steps = figure('Coefficients', 'where each round starts from, in scaled units');
    const gradientChart = lineChart(gradient.plot, 'Size of the gradient in each round', 220, TABLE);
    const stepsChart = lineChart(steps.plot, 'Coefficients at the start of each round', 220, TABLE);
    const table = roundTable();
    return {
        node: section('Rounds', element('div', { class: 'pair' }, gradient.node, steps.node),
            element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table of rounds' }, table.node)),
        update({ history }) {
            const { rounds } = history;
            gradientChart.update({ dots: true, whole: true, include: [0], x: 'round', y: 'size of the gradient, scaled units', series: [{ name: 'gradient',
                points: rounds.map((round) => ({ x: round.round + 1, y: round.gradient_norm })) }] });
            stepsChart.update({ dots: rounds.length < 30, whole: true, include: [0], x: 'round', y: 'coefficient, scaled units', series: names.map((name, i) => (
                { name, points: rounds.map((round) => ({ x: round.round + 1, y: round.beta ? round.beta[i] : null })) })) });
            table.update(rounds);
        },
    };
}
