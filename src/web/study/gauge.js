/* gauge.js -- how private a study is, at a glance: how often the best attacker guesses right
 * between two people, from 50 % (a coin) to 100 %, on bands with names.
 *
 * The number for the people whom the study promises something has the filled mark, that for any two people
 * the hollow one. Marks and names have the colour of the band they lie in. What devices refuse by default has an
 * amber tag besides; `strength` says so, in the server's own judgement (docs/estimate.schema.json). All it takes is a guarantee:
 *
 *     const private = gauge();
 *     place.append(private.node);
 *     private.update(estimate.guarantee);
 *
 * badge() is the same in one line, for lists and tables. */
import { element, setText, show } from '../common/dom.js';
import { atMost, typographic } from '../common/format.js';

/* Up to which share of right guesses; "hardly" is the last, whatever the share. */
const BANDS = [
    { upTo: 0.6, name: 'strong' },
    { upTo: 0.8, name: 'fair' },
    { upTo: 0.9, name: 'weak' },
    { upTo: 1, name: 'hardly any', short: 'hardly' },
];
const WIDTH = 100;
const HEIGHT = 14;
const RADIUS = 3.4;
const SVG = 'http://www.w3.org/2000/svg';

const place = (right) => WIDTH * Math.min(1, Math.max(0, 2 * right - 1));

/* Whom the promise is for. */
const isForAnyTwo = (guarantee) => guarantee.neighbours === 'any';

/* Without an epsilon nothing is promised, and an attacker may always be right. */
const hasNoLimit = (of) => (of?.epsilon ?? null) === null;

const shareOf = (of) => (hasNoLimit(of) ? '100%' : atMost(of.attacker_right));

const bandAt = (right) => {
    const found = BANDS.findIndex((band) => right <= band.upTo + 1e-9);
    return found < 0 ? BANDS.length - 1 : found;
};

/* One line of the headline: whom it is about, the band's place and name. */
const lineOf = (who, band) => ({ who, band, name: BANDS[band].name });

/** The names of the protection, a line for each, and whether it is more than devices allow. A promise for people
 * who are alike alone is never called by its own band only: it would read as if it held for everybody. No
 * guarantee: raw data were read. */
export function protection(guarantee) {
    if (guarantee === null) return { lines: [], right: null, isPast: true };
    const right = guarantee.attacker_right ?? 1;
    const near = guarantee.strength === 'hardly' ? BANDS.length - 1 : bandAt(right);
    const far = bandAt(guarantee.any_two?.attacker_right ?? 1);
    const lines = isForAnyTwo(guarantee) || far === near ? [lineOf(null, near)] : [lineOf('people alike', near), lineOf('any two', far)];
    return { lines, right, isPast: guarantee.strength !== 'policy' };
}

/* Read aloud when there is no guarantee; else the guarantee has a sentence of its own (src/study/guarantee.c). */
const UNPROTECTED = 'The data were read as they are: nothing is protected.';
const sentenceOf = (guarantee) => typographic(guarantee === null ? UNPROTECTED : guarantee.answer ?? '');

function shape(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
}

/* Bands from 50 to 100 %, and the two marks. */
function picture() {
    const svg = shape('svg', { class: 'gauge', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true', focusable: 'false' });
    let from = 0.5;
    BANDS.forEach(({ upTo }, i) => {
        svg.append(shape('rect', { class: `band b${i}`, x: place(from) + (i > 0 ? 0.6 : 0), width: place(upTo) - place(from) - (i > 0 ? 0.6 : 0), y: 5, height: 4 }));
        from = upTo;
    });
    const hollow = svg.appendChild(shape('circle', { r: RADIUS - 0.4, cy: 7 }));
    const filled = svg.appendChild(shape('circle', { r: RADIUS, cy: 7 }));
    return {
        svg,
        mark(right, anyTwo) {
            [[filled, 'promised', right], [hollow, 'any-two', anyTwo ?? right]].forEach(([mark, kind, share]) => {
                mark.setAttribute('cx', Math.min(WIDTH - RADIUS, Math.max(RADIUS, place(share)))); /* on the scale, and not half beside it */
                mark.setAttribute('class', `${kind} of-b${bandAt(share)}`);
            });
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

/* A line of a headline in its band's colour. */
const inColour = ({ band }, text) => element('span', { class: `band-name of-b${band}`, text });

/* Nodes, made anew only when they say something else. */
function put(node, nodes) {
    const said = (all) => Array.from(all, (one) => `${one.className} ${one.textContent}`).join('|');
    if (said(node.children) !== said(nodes)) node.replaceChildren(...nodes);
}

/* What devices refuse by default. */
const pastTag = () => element('span', { class: 'tag', text: 'above the usual allowance' });

const headline = ({ who, name }) => (who === null ? `Protection: ${name}` : `Between ${who}: ${name}`);

/** The gauge with its sentence. */
export function gauge() {
    const drawn = picture();
    const name = element('strong', { class: 'headline' });
    const tag = pastTag();
    const sentence = element('p', { class: 'words' });
    const caution = element('p', { class: 'past' });
    const ends = element('p', { class: 'ends', 'aria-hidden': 'true' }, element('span', { text: '50%, a coin' }), element('span', { text: '100%' }));
    const names = element('p', { class: 'bands', 'aria-hidden': 'true' }, ...BANDS.map((band) => element('span', { text: band.short ?? band.name })));
    const alike = element('span', { class: 'mark-alike' });
    const others = element('span', { class: 'mark-others' });
    const marks = element('p', { class: 'legend', 'aria-hidden': 'true' }, alike, others);
    const scale = element('div', {}, ends, drawn.svg, names, marks);
    const node = element('div', { class: 'protection' }, name, tag, scale, sentence, caution);
    return {
        node,
        update(guarantee) {
            const { lines, right, isPast } = protection(guarantee);
            put(name, right === null ? [inColour({ band: BANDS.length - 1 }, 'Not private')] : lines.map((line) => inColour(line, headline(line))));
            show(tag, isPast && right !== null);
            show(scale, right !== null);
            const two = right === null ? null : marksOf(guarantee);
            if (right !== null) drawn.mark(right, anyTwoOf(guarantee));
            show(marks, two !== null);
            setText(alike, two?.alike ?? '');
            setText(others, two?.others ?? '');
            alike.className = `mark-alike of-b${bandAt(right ?? 1)}`;
            others.className = `mark-others of-b${bandAt(two === null ? 1 : anyTwoOf(guarantee))}`;
            setText(sentence, sentenceOf(guarantee));
            setText(caution, guarantee?.caution ?? '');
            show(caution, caution.textContent !== '');
        },
    };
}

/** One line: the picture and the name, with the sentence for whoever asks. */
export function badge() {
    const drawn = picture();
    const name = element('span');
    const numbers = element('span', { class: 'facts' });
    const tag = pastTag();
    const sentence = element('span', { class: 'unseen' });
    const node = element('span', { class: 'badge' }, drawn.svg, name, ' ', numbers, ' ', tag, sentence);
    return {
        node,
        update(guarantee) {
            const { lines, right, isPast } = protection(guarantee);
            show(tag, isPast && right !== null);
            drawn.svg.toggleAttribute('hidden', right === null);
            if (right !== null) drawn.mark(right, anyTwoOf(guarantee));
            put(name, right === null ? [inColour({ band: BANDS.length - 1 }, 'not private')]
                : lines.map((line) => inColour(line, line.who === null ? line.name : `${line.who}: ${line.name}`)));
            setText(numbers, right === null ? '' : rightWords(guarantee));
            setText(sentence, ` ${sentenceOf(guarantee)}`);
            node.title = sentenceOf(guarantee);
        },
    };
}
