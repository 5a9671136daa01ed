/* coefficients.js -- the results of a study: the panel, and where its numbers are from. */
import { element, section, setText, show } from '../common/dom.js';
import { cutSentence, referenceSentence, roundSizeSentence, weightsSentence } from './learnt.js';
import { resultsPanel } from './results.js';

/* The protocol counts rounds from 0, people from 1. */
function sourceSentence({ inference, rounds }) {
    const from = inference.round === null ? 'all rounds' : `round ${inference.round + 1} of ${rounds}`;
    return inference.why === null ? '' : `The table is made from ${from}: ${inference.why}.`;
}

export function coefficientsSection(study) {
    const panel = resultsPanel();
    const unclear = element('p', { class: 'facts' });
    const source = element('p', { class: 'facts' });
    const size = element('p', { class: 'facts' });
    const reference = element('p', { class: 'facts' });
    const cut = element('p', { class: 'facts' });
    const weights = element('p', { class: 'facts' });
    return {
        node: section('Results', panel.node, reference, cut, weights, unclear, size, source),
        update({ estimate }) {
            panel.update(estimate);
            /* Why there are none; how many devices are lacking is said above. */
            const words = estimate.remark ?? '';
            setText(unclear, words === '' ? '' : `${words[0].toUpperCase()}${words.slice(1)}.`);
            show(unclear, words !== '');
            const sentences = [[reference, referenceSentence(estimate)], [cut, cutSentence(estimate)], [weights, weightsSentence(estimate)]];
            for (const [node, said] of sentences) {
                setText(node, said);
                show(node, said !== '');
            }
            setText(size, roundSizeSentence(study, estimate));
            show(size, size.textContent !== '');
            setText(source, estimate.coefficients.some((row) => row.identified) ? sourceSentence(estimate) : '');
            show(source, source.textContent !== '');
        },
    };
}
