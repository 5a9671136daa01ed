/* progress.js -- how far a study is, in four numbers. */
import { element, section, setText, show } from './dom.js';
import { count, counted, number, rate } from './format.js';
import { isIterative } from './study_terms.js';
import { announcer } from './announce.js';

function tile(name) {
    const label = element('dt', { text: name });
    const amount = element('dd', { class: 'amount' });
    const words = element('dd', { class: 'words' });
    return {
        node: element('div', { class: 'tile' }, label, amount, words),
        set(value, sentence) {
            setText(amount, value);
            setText(words, sentence);
        },
    };
}

function refusedOf(outcomes) {
    const all = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
    return { all, refused: all - outcomes.accepted - outcomes.repeated };
}

function roundWords(study, history) {
    const wanted = study.protocol.close?.reports;
    if (history.state === 'done') return 'all rounds are closed';
    return wanted ? `${count(history.round_reports)} of ${counted(wanted, 'report')}`
        : `${counted(history.round_reports, 'report')} in this one`;
}

function explainedWords({ r2_low: low, r2_high: high, level }) {
    return low === null ? 'R², of the prediction'
        : `R², of the prediction; ${number(low, 3)} to ${number(high, 3)} at ${number(100 * level, 3)}%`;
}

export function progressSection(study) {
    const devices = tile('Devices so far');
    const speed = tile('Arriving');
    const explained = tile('Explained variance');
    const rounds = tile('Round');
    const refused = tile('Refused');
    const news = announcer();
    show(rounds.node, isIterative(study));
    const tiles = [devices, speed, explained, rounds, refused];
    const node = section('Progress', element('dl', { class: 'tiles' }, ...tiles.map((one) => one.node)),
        news.node);
    return {
        node,
        update({ estimate, history }) {
            const { amount, unit } = rate(history.rate);
            const { refused: turned, all } = refusedOf(history.outcomes);
            devices.set(count(history.devices), `${counted(history.reports, 'report')} counted`);
            speed.set(amount, `reports ${unit}`);
            explained.set(number(estimate.r2, 3), explainedWords(estimate));
            rounds.set(`${history.round + 1} of ${history.rounds_planned}`, roundWords(study, history));
            refused.set(count(turned), `of ${count(all)} that came`);
            news.say(`${counted(history.devices, 'device')} so far, R squared ${number(estimate.r2 ?? null, 2)}.`);
        },
    };
}
