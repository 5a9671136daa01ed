/* answers.js -- the three answers of every study and every saved result: what was learnt, how
 * certain it is, how private it was. All from one document (docs/estimate.schema.json). */
import { element, keyed, setText, show } from '../common/dom.js';
import { count, counted, number } from '../common/format.js';
import { gauge } from './gauge.js';
import { about, featureRows, learnt, sentenceNodes, sentenceText } from './learnt.js';

const OTHERS_SHOWN = 2;
const PIPS_MOST = 12; /* effects that are drawn one by one beside their count */

function card(title, ...children) {
    return element('div', { class: 'answer' }, element('h2', { text: title }), ...children);
}

/* Nodes of a sentence, made anew only when it says something else. */
function sentence(node) {
    let shown = null;
    return (parts) => {
        const text = sentenceText(parts);
        if (text === shown) return;
        shown = text;
        node.replaceChildren(...sentenceNodes(parts));
    };
}

function learntCard() {
    const lead = element('p', { class: 'lead' });
    const setLead = sentence(lead);
    const bar = element('meter', { min: '0', max: '1' });
    const reason = element('p', { class: 'facts' });
    const others = element('ul', { class: 'others' });
    const updateOthers = keyed(others, (parts) => sentenceText(parts), (parts) => (
        { node: element('li', {}, ...sentenceNodes(parts)), update() {} }));
    const more = element('p', { class: 'facts' });
    return {
        node: card('Learnt', lead, bar, reason, others, more),
        update(document) {
            const { sentence: words, why, others: rest, share } = learnt(document);
            setLead(words);
            show(bar, share !== null);
            bar.value = share ?? 0;
            bar.setAttribute('aria-label', share === null ? '' : `devices of those needed, about ${about(document.devices_needed)}`);
            setText(reason, why);
            show(reason, why !== '');
            updateOthers(rest.slice(0, OTHERS_SHOWN));
            show(others, rest.length > 0);
            setText(more, rest.length > OTHERS_SHOWN ? `and ${counted(rest.length - OTHERS_SHOWN, 'more', 'more')}, below` : '');
            show(more, more.textContent !== '');
        },
    };
}

const percent = (share) => `${number(100 * Math.min(1, Math.max(0, share)), 2)}%`;

/** R^2 in words, with its interval; nothing without one, or while noise hides every effect. */
export function explainedSentence({ r2, r2_low: low, r2_high: high, response, coefficients }, told) {
    if (r2 === null || low === null || high === null || !featureRows({ coefficients }).some((row) => row.identified)) return [];
    return [told > 0 ? 'Together they explain ' : 'Though no single effect is certain, together they explain ', percent(r2), ' of what ', { name: response.name }, ' varies by (R², between ', percent(low), ' and ', percent(high), ').'];
}

/* A filled dot for each effect that is told, a hollow one for each of the others: a count, not a probability. */
const pipsOf = (told, of) => (of > PIPS_MOST ? '' : '●'.repeat(told) + '○'.repeat(of - told));

/** What is counted, so that nobody takes "2 of 3" for a probability. */
export const certainAmount = (told, of) => `${told} of ${counted(of, 'effect')} told from zero`;

/** And what that means. */
export function certainWords(told, of, level) {
    if (told === 0) return `${of === 1 ? 'It' : 'Each of them'} may still be zero, at a confidence of ${level}%.`;
    const rest = of - told;
    const others = rest === 0 ? '' : rest === 1 ? ' The other one may be zero.' : ` The other ${count(rest)} may be zero.`;
    return told === 1 ? `Its ${level}% interval leaves zero out.${others}` : `Their ${level}% intervals leave zero out.${others}`;
}

function certainCard() {
    const amount = element('p', { class: 'amount' });
    const pips = element('p', { class: 'pips', 'aria-hidden': 'true' });
    const words = element('p', { class: 'words' });
    const explained = element('p', { class: 'facts' });
    const setExplained = sentence(explained);
    return {
        node: card('Certain', amount, pips, words, explained),
        update(document) {
            const { told, of } = learnt(document);
            const known = featureRows(document).length > 0;
            const nothing = document.state === 'done' ? ['Nothing', 'It closed before two devices had reported.']
                : ['Not yet', 'Before two devices have reported nothing can be said.'];
            setText(amount, known ? certainAmount(told.length, of) : nothing[0]);
            setText(pips, pipsOf(told.length, of));
            show(pips, pips.textContent !== '');
            setText(words, known ? certainWords(told.length, of, number(100 * document.level, 3)) : nothing[1]);
            const parts = explainedSentence(document, told.length);
            setExplained(parts);
            show(explained, parts.length > 0);
        },
    };
}

/** @returns {{node: HTMLElement, update: (document: any) => void}} */
export function answers() {
    const first = learntCard();
    const second = certainCard();
    const third = gauge();
    return {
        node: element('div', { class: 'answers3' }, first.node, second.node, card('Private', third.node)),
        update(document) {
            first.update(document);
            second.update(document);
            third.update(document.guarantee);
        },
    };
}
