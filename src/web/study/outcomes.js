/* outcomes.js -- what became of every report that came. */
import { element, keyed, setText, show } from '../common/dom.js';
import { count, moment } from '../common/format.js';

/* Names are the server's; an unknown one of a newer server is shown as it is. */
const WORDS = {
    accepted: 'Accepted',
    repeated: 'Repeated: the same bytes again, counted once',
    closed: 'Late: the round or the study was closed',
    too_early: 'Early: the study had not begun',
    malformed: 'Refused: not a report',
    unknown_version: 'Refused: of an unknown version',
    not_named: 'Refused: without the name of a device',
    wrong_mac: 'Refused: with a key that does not fit',
    other_bytes: 'Refused: a known id with other bytes',
    samples_used: 'Refused: the device has used its samples',
    wrong_study: 'Refused: for another study',
    wrong_round: 'Refused: for another round',
    impossible: 'Refused: no honest device would send it',
    busy: 'Turned away: the server was busy',
    over_quota: 'Turned away: the source had sent its share',
    not_stored: 'Turned away: it could not be stored',
};
const ORDER = Object.keys(WORDS);
const ALWAYS = new Set(['accepted', 'repeated', 'closed']);

function outcomeRow() {
    const name = element('th', { scope: 'row' });
    const amount = element('data');
    const share = element('meter', { min: '0', max: '1', 'aria-hidden': 'true' });
    return {
        node: element('tr', {}, name, element('td', { class: 'share' }, share), element('td', {}, amount)),
        update(row) {
            setText(name, WORDS[row.name] ?? `Refused: ${row.name}`);
            setText(amount, count(row.amount));
            amount.value = row.amount;
            share.value = row.share;
        },
    };
}

function rowsOf(outcomes) {
    const all = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
    const place = ([name]) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
    return Object.entries(outcomes).sort((a, b) => place(a) - place(b)).filter(([name, amount]) => amount > 0 || ALWAYS.has(name))
        .map(([name, amount]) => ({ name, amount, share: all > 0 ? amount / all : 0 }));
}

/* What is in the sums and did not come through this server since it started. */
const beforeOf = ({ reports, outcomes }) => Math.max(0, reports - outcomes.accepted);

/** The table of outcomes, since the server started; what was counted before has a line of its own. */
export function outcomesTable() {
    const body = element('tbody');
    const caption = element('caption');
    const before = element('p', { class: 'facts' });
    const update = keyed(body, (row) => row.name, outcomeRow);
    const head = element('tr', {}, element('th', { scope: 'col', text: 'What became of it' }),
        element('td', { class: 'share' }), element('th', { scope: 'col', text: 'Reports' }));
    const table = element('table', { class: 'outcomes' }, caption, element('thead', {}, head), body);
    return {
        node: element('div', {}, table, before),
        update(history) {
            setText(caption, `Reports since the server started, ${moment(history.since)}`);
            update(rowsOf(history.outcomes));
            const earlier = beforeOf(history);
            setText(before, earlier === 0 ? '' : `${count(earlier)} more are counted that came before this start, or by way of another server.`);
            show(before, earlier > 0);
        },
    };
}
