/* timeline.js -- devices and explained variance over time. */
import { element, figure, section, setText, show } from './dom.js';
import { count, number } from './format.js';
import { lineChart } from './chart/lines.js';

const at = (sample) => new Date(sample.time * 1000);

export function timelineSection() {
    const explained = figure('Explained variance (R²)');
    const arrived = figure('Reports');
    const explainedChart = lineChart(explained.plot, 'Explained variance over time');
    const arrivedChart = lineChart(arrived.plot, 'Reports over time');
    const early = element('p', { class: 'facts', text: 'The first points appear within a few seconds.' });
    return {
        node: section('Over time', early, element('div', { class: 'pair' }, explained.node, arrived.node)),
        update({ history }) {
            const { samples } = history;
            show(early, samples.length === 0);
            const last = samples.at(-1);
            const first = samples.find((sample) => sample.r2 !== null);
            if (last !== undefined) {
                setText(explained.words, first ? `from ${number(first.r2, 3)} to ${number(last.r2, 3)}` : 'none could be estimated yet');
                setText(arrived.words, `${count(last.reports)} at the last look`);
            }
            explainedChart.update({ time: true, include: [0, 1],
                series: [{ name: 'R²', points: samples.map((sample) => ({ x: at(sample), y: sample.r2 })) }] });
            arrivedChart.update({ time: true, include: [0],
                series: [{ name: 'reports', points: samples.map((sample) => ({ x: at(sample), y: sample.reports })) }] });
        },
    };
}
