/* announce.js -- news for whoever listens rather than looks.
 *
 * Counts change several times a minute, which nobody wants read out. A polite
 * live region gets a sentence at once and then at most every half minute, and
 * only when it says something new. */
import { element } from '../common/dom.js';

const QUIET_MS = 30000;

/** @returns {{node: HTMLElement, say: (sentence: string) => void}} */
export function announcer(clock = () => performance.now()) {
    const node = element('p', { class: 'unseen', 'aria-live': 'polite' });
    let last = -Infinity;
    return {
        node,
        say(sentence) {
            if (clock() - last < QUIET_MS || sentence === node.textContent) return;
            last = clock();
            node.textContent = sentence;
        },
    };
}
