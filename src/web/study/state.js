/* state.js -- whether a study is open, as a chip. */
import { element, setText } from '../common/dom.js';
import { stateWord } from '../common/format.js';

export function stateChip() {
    const node = element('span', { class: 'state' });
    return {
        node,
        update(state) {
            setText(node, stateWord(state));
            node.className = `state ${state}`;
        },
    };
}
