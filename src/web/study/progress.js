/* progress.js -- how a study is doing, in one line that opens: devices, rate, refusals, and inside
 * what became of every report. */
import { element, setText } from '../common/dom.js';
import { count, counted, number, rate } from '../common/format.js';
import { isIterative } from '../common/study_terms.js';
import { announcer } from './announce.js';
import { sentenceText } from './learnt.js';
import { outcomesTable } from './outcomes.js';
import { tailsPart } from './tails.js';

/* What was turned away, since the server started; what devices themselves refuse never comes here. */
function refusedWords(outcomes) {
    const all = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
    return `${counted(all - outcomes.accepted - outcomes.repeated, 'report')} refused by the server`;
}

function roundWords(study, history) {
    const wanted = study.protocol.close?.reports;
    const place = `round ${history.round + 1} of ${history.rounds_planned}`;
    if (history.state === 'closing') return `${place} is closing`;
    return wanted ? `${place}, which has ${count(history.round_reports)} of the ${counted(wanted, 'report')} that close it` : place;
}

/** The line's words, one for each thing. */
export function statusWords(study, history) {
    const { amount, unit } = rate(history.rate);
    if (history.state === 'done') {
        const rounds = isIterative(study) ? `closed after ${counted(history.rounds.length, 'round')}` : 'closed';
        return [`${counted(history.devices, 'device')}`, rounds, refusedWords(history.outcomes)];
    }
    const arriving = history.rate === null ? 'rate not known yet' : amount === '0' ? 'none arriving now' : `${amount} reports ${unit}`;
    return [`${counted(history.devices, 'device')}`, arriving, ...(isIterative(study) ? [roundWords(study, history)] : []),
        refusedWords(history.outcomes)];
}

export function progressSection(study) {
    const line = element('span', { class: 'line' });
    const news = announcer();
    const outcomes = outcomesTable();
    const tails = tailsPart();
    const node = element('details', { class: 'status card' }, element('summary', {}, line), outcomes.node, tails.node);
    return {
        node: element('div', {}, tails.alarm, node, news.node),
        update({ estimate, history }) {
            setText(line, statusWords(study, history).join(' · '));
            outcomes.update(history);
            tails.update(estimate);
            const r2 = estimate.r2 === null ? '' : ` R squared ${number(estimate.r2, 2)}.`;
            news.say(`${counted(history.devices, 'device')} so far. ${sentenceText(estimate.answers[0].text)}.${r2}`);
        },
    };
}
