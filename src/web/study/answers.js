/* answers.js -- the three answers of every study and every saved result: what was learnt, how
 * certain it is, how private it was. The sentences are the document's own ("answers" of
 * docs/estimate.schema.json); here they get a bar, dots and a gauge. */
import { element, keyed, setText, show } from '../common/dom.js';
import { counted } from '../common/format.js';
import { gauge } from './gauge.js';
import { about, sentenceNodes, sentenceText } from './learnt.js';

const OTHERS_SHOWN = 2;
const PIPS_MOST = 12; /* effects that are drawn one by one beside their count */

function card(title, ...children) {
    return element('div', { class: 'answer' }, element('h2', { text: title }), ...children);
}

/** A paragraph that is made again only when its sentence changes, and hidden without one. */
export function sentenceNode(tag, attributes) {
    const node = element(tag, attributes);
    let shown = null;
    return {
        node,
        update(sentence = []) {
            const text = sentenceText(sentence);
            if (text === shown) return;
            shown = text;
            node.replaceChildren(...sentenceNodes(sentence));
            show(node, text !== '');
        },
    };
}

function learntCard() {
    const lead = sentenceNode('p', { class: 'lead' });
    const bar = element('meter', { min: '0', max: '1' });
    const reason = sentenceNode('p', { class: 'facts' });
    const others = element('ul', { class: 'others' });
    const updateOthers = keyed(others, sentenceText, (parts) => (
        { node: element('li', {}, ...sentenceNodes(parts)), update() {} }));
    const more = element('p', { class: 'facts' });
    return {
        node: card('Learnt', lead.node, bar, reason.node, others, more),
        update({ text, facts, others: rest, share }, needed) {
            lead.update(text);
            show(bar, share !== null);
            bar.value = share ?? 0;
            bar.setAttribute('aria-label', share === null ? '' : `devices of those needed, about ${about(needed)}`);
            reason.update(facts[0]);
            updateOthers(rest.slice(0, OTHERS_SHOWN));
            show(others, rest.length > 0);
            setText(more, rest.length > OTHERS_SHOWN ? `and ${counted(rest.length - OTHERS_SHOWN, 'more', 'more')}, below` : '');
            show(more, more.textContent !== '');
        },
    };
}

/* A filled dot for each significant effect, a hollow one for each of the others: a count, not a probability. */
const pipsOf = (significant, of) => (of > PIPS_MOST ? '' : '●'.repeat(significant) + '○'.repeat(of - significant));

function certainCard() {
    const amount = sentenceNode('p', { class: 'amount' });
    const pips = element('p', { class: 'pips', 'aria-hidden': 'true' });
    const words = sentenceNode('p', { class: 'words' });
    const explained = sentenceNode('p', { class: 'facts' });
    return {
        node: card('Certain', amount.node, pips, words.node, explained.node),
        update({ text, facts, significant, of }) {
            amount.update(text);
            setText(pips, pipsOf(significant, of));
            show(pips, pips.textContent !== '');
            words.update(facts[0]);
            explained.update(facts[1]);
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
        update({ answers: [learnt, certain], guarantee, devices_needed: needed }) {
            first.update(learnt, needed);
            second.update(certain);
            third.update(guarantee);
        },
    };
}

/** Answers of documents without an estimate: a title, a text, and perhaps a guarantee to draw. */
export function plainAnswers(all) {
    return element('div', { class: 'answers3' }, ...all.map(({ title, text, guarantee }) => {
        if (!guarantee) return card(title, element('p', { class: 'lead' }, ...sentenceNodes(text)));
        const drawn = gauge();
        drawn.update(guarantee);
        return card(title, drawn.node, element('p', { class: 'facts' }, ...sentenceNodes(text)));
    }));
}
