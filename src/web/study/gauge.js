/* gauge.js -- how private a study is, at a glance: how often the best attacker guesses right
 * between two people, from 50 % (a coin) to 100 %, on bands with names.
 *
 * The number for the people whom the study promises something has the filled mark, that for any two people
 * the hollow one. Amber is what devices refuse by default; `strength` says so, in the
 * server's own judgement (docs/estimate.schema.json). All it takes is a guarantee:
 *
 *     const private = gauge();
 *     place.append(private.node);
 *     private.update(estimate.guarantee);
 *
 * badge() is the same in one line, for lists and tables. */
import { element, setText, show } from '../common/dom.js';
import { atMost, rightAtMost } from '../common/format.js';

/* Up to which share of right guesses; "hardly" is the last, whatever the share. */
const BANDS = [
    { upTo: 0.6, name: 'strong' },
    { upTo: 0.8, name: 'fair' },
    { upTo: 0.9, name: 'weak' },
    { upTo: 1, name: 'hardly any', short: 'hardly' },
];
const WIDTH = 100;
const HEIGHT = 14;
const SVG = 'http://www.w3.org/2000/svg';

const place = (right) => WIDTH * Math.min(1, Math.max(0, 2 * right - 1));

/* Whom the promise is for. */
const isForAnyTwo = (guarantee) => guarantee.neighbours === 'any';

/* Without an epsilon nothing is promised, and an attacker may always be right. */
const hasNoLimit = (of) => (of?.epsilon ?? null) === null;

const shareOf = (of) => (hasNoLimit(of) ? '100%' : atMost(of.attacker_right));

const bandOf = (right) => (BANDS.find((band) => right <= band.upTo + 1e-9) ?? BANDS.at(-1)).name;

/** The name of the protection, and whether it is amber. A promise for people who are alike alone is never
 * called by its own band only: it would read as if it held for everybody. No guarantee: raw data were read. */
export function protection(guarantee) {
    if (guarantee === null) return { name: 'none', right: null, amber: true };
    const right = guarantee.attacker_right ?? 1;
    const near = guarantee.strength === 'hardly' ? BANDS.at(-1).name : bandOf(right);
    const far = bandOf(guarantee.any_two?.attacker_right ?? 1);
    const name = isForAnyTwo(guarantee) || far === near ? near : `${near} among alike, ${far} between any two`;
    return { name, right, amber: guarantee.strength !== 'policy' };
}

/** The sentence that the picture draws. */
export function protectionSentence(guarantee) {
    if (guarantee === null) return 'The data were read as they are: nothing is protected.';
    const guess = (of) => (hasNoLimit(of) ? 'always' : `${rightAtMost(of.attacker_right)} of the time`);
    const clear = guarantee.protects === 'features' ? ' The response is sent as it is.' : '';
    if (isForAnyTwo(guarantee)) return `Guessing between any two people, an attacker is right ${guess(guarantee)}; a coin is right 50%.${clear}`;
    const far = guess(guarantee.any_two);
    return `Guessing between two people as alike as the study promises for, an attacker is right ${guess(guarantee)}, between any two ${far}; a coin is right 50%.${clear}`;
}

/** Why it is amber, or nothing. */
export function protectionCaution(guarantee) {
    if (guarantee === null) return '';
    return {
        policy: '',
        past: 'More than devices allow by default: ε 2 for one study, between any two people.',
        hardly: 'The noise protects hardly anything.',
    }[guarantee.strength] ?? '';
}

function shape(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
}

/* Bands from 50 to 100 %, and the two marks. */
function picture() {
    const svg = shape('svg', { class: 'gauge', viewBox: `-4 0 ${WIDTH + 8} ${HEIGHT}`, 'aria-hidden': 'true', focusable: 'false' });
    let from = 0.5;
    BANDS.forEach(({ upTo }, i) => {
        svg.append(shape('rect', { class: `band b${i}`, x: place(from) + (i > 0 ? 0.6 : 0), width: place(upTo) - place(from) - (i > 0 ? 0.6 : 0), y: 5, height: 4 }));
        from = upTo;
    });
    const hollow = svg.appendChild(shape('circle', { class: 'any-two', r: 3, cy: 7 }));
    const filled = svg.appendChild(shape('circle', { class: 'promised', r: 3.4, cy: 7 }));
    return {
        svg,
        mark(right, anyTwo) {
            filled.setAttribute('cx', place(right));
            hollow.setAttribute('cx', place(anyTwo ?? right));
            hollow.setAttribute('visibility', anyTwo === null ? 'hidden' : 'visible');
        },
    };
}

/* What the marks stand for, where there are two: {alike, others}, or null. */
function marksOf(guarantee) {
    return isForAnyTwo(guarantee) ? null : { alike: `people alike: ${shareOf(guarantee)}`, others: `any two: ${shareOf(guarantee.any_two)}` };
}

/* In a list there is room for the numbers, and for what they are of: a bare "79%" would read as how private it is. */
function rightWords(guarantee) {
    return `attacker right ${shareOf(guarantee)}${isForAnyTwo(guarantee) ? '' : ` and ${shareOf(guarantee.any_two)}`}`;
}

const anyTwoOf = (guarantee) => (isForAnyTwo(guarantee) ? null : guarantee.any_two?.attacker_right ?? 1);

/** The gauge with its sentence. */
export function gauge() {
    const drawn = picture();
    const name = element('strong', { class: 'band-name' });
    const sentence = element('p', { class: 'words' });
    const caution = element('p', { class: 'past' });
    const ends = element('p', { class: 'ends', 'aria-hidden': 'true' }, element('span', { text: '50%, a coin' }), element('span', { text: '100%' }));
    const names = element('p', { class: 'bands', 'aria-hidden': 'true' }, ...BANDS.map((band) => element('span', { text: band.short ?? band.name })));
    const alike = element('span', { class: 'mark-alike' });
    const others = element('span', { class: 'mark-others' });
    const marks = element('p', { class: 'legend', 'aria-hidden': 'true' }, alike, others);
    const scale = element('div', {}, ends, drawn.svg, names, marks);
    const node = element('div', { class: 'protection' }, name, scale, sentence, caution);
    return {
        node,
        update(guarantee) {
            const { name: words, right, amber } = protection(guarantee);
            node.classList.toggle('amber', amber);
            setText(name, right === null ? 'Not private' : `Protection: ${words}`);
            show(scale, right !== null);
            const two = right === null ? null : marksOf(guarantee);
            if (right !== null) drawn.mark(right, anyTwoOf(guarantee));
            show(marks, two !== null);
            setText(alike, two?.alike ?? '');
            setText(others, two?.others ?? '');
            setText(sentence, protectionSentence(guarantee));
            setText(caution, protectionCaution(guarantee));
            show(caution, caution.textContent !== '');
        },
    };
}

/** One line: the picture and the name, with the sentence for whoever asks. */
export function badge() {
    const drawn = picture();
    const name = element('span', { class: 'band-name' });
    const numbers = element('span', { class: 'facts' });
    const sentence = element('span', { class: 'unseen' });
    const node = element('span', { class: 'badge' }, drawn.svg, name, ' ', numbers, sentence);
    return {
        node,
        update(guarantee) {
            const { name: words, right, amber } = protection(guarantee);
            node.classList.toggle('amber', amber);
            drawn.svg.toggleAttribute('hidden', right === null);
            if (right !== null) drawn.mark(right, anyTwoOf(guarantee));
            setText(name, right === null ? 'not private' : words);
            setText(numbers, right === null ? '' : rightWords(guarantee));
            setText(sentence, ` ${protectionSentence(guarantee)}`);
            node.title = protectionSentence(guarantee);
        },
    };
}
