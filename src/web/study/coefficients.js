/* coefficients.js -- the results of a study: the panel, and where its numbers are from. */
import { element, keyed, section, setText, show } from '../common/dom.js';
import { roundSizeSentence, sentenceNodes, sentenceText } from './learnt.js';
import { resultsPanel } from './results.js';

/* The protocol counts rounds from 0, people from 1. */
function sourceSentence({ inference, rounds }) {
    const from = inference.round === null ? 'all rounds' : `round ${inference.round + 1} of ${rounds}`;
    return inference.why === null ? '' : `The table is made from ${from}: ${inference.why}.`;
}

/** What a reader of the table must know, a paragraph each. */
export function notesList() {
    const node = element('div');
    const update = keyed(node, sentenceText, (note) => ({ node: element('p', { class: 'facts' }, ...sentenceNodes(note)), update() {} }));
    return { node, update: ({ notes }) => update(notes) };
}

/** Of a study, or of a saved result (null). */
export function coefficientsSection(study) {
    const panel = resultsPanel();
    const unclear = element('p', { class: 'facts' });
    const source = element('p', { class: 'facts' });
    const size = element('p', { class: 'facts' });
    const notes = notesList();
    return {
        node: section('Results', panel.node, notes.node, unclear, size, source),
        update({ estimate }) {
            panel.update(estimate);
            /* Why there are none; how many devices are lacking is said above. */
            const words = estimate.remark ?? '';
            setText(unclear, words === '' ? '' : `${words[0].toUpperCase()}${words.slice(1)}.`);
            show(unclear, words !== '');
            notes.update(estimate);
            setText(size, study === null ? '' : roundSizeSentence(study, estimate));
            show(size, size.textContent !== '');
            setText(source, estimate.coefficients.some((row) => row.identified) ? sourceSentence(estimate) : '');
            show(source, source.textContent !== '');
        },
    };
}
