/* guarantee.js -- what an attacker could learn, in words, as a curve, and for
 * people who differ more or less than the study promises for. */
import { studyBudget } from './budget.js';
import { differencesTable } from './differences.js';
import { element, section, setText } from '../common/dom.js';
import { cost, count, counted, number, rightAtMost } from '../common/format.js';
import { epsilonAt } from 'tremolo-device/gaussian';
import { caught, caughtBallot, guessedRight } from '../common/gaussian.js';
import { coordinates, isBallot, muAt, promisedDistance, releases, widest } from '../common/study_terms.js';
import { ofOne } from './learnt.js';
import { POLICY } from '../participant/policy.js';
import { FALSE_ALARMS, tradeoffChart } from '../chart/tradeoff.js';

const STEPS = 200;
const READING = 'reading';
const FEATURES_SAID = 3;

/* Distances worth a name, nearest first. */
function landmarks(study) {
    const dimension = coordinates(study).length;
    const far = widest(study);
    const all = [
        { name: 'promised', distance: promisedDistance(study) },
        { name: 'typical pair', distance: Math.sqrt(2 * dimension) },
        { name: 'any two people', distance: far },
    ];
    const seen = new Set();
    return all.filter(({ distance }) => {
        const key = number(distance, 3);
        return distance <= far * (1 + 1e-9) && !seen.has(key) && seen.add(key);
    });
}

/* "2,500 steps", "1 hour of sleep". */
function amountOf({ name, unit }, amount) {
    const shown = amount >= 1000 ? count(amount) : number(amount, 3);
    if (!unit) return `${shown} of ${name}`;
    return `${shown} ${shown === '1' ? ofOne(unit) : unit}${unit === name ? '' : ` of ${name}`}`;
}

/* A distance in the features' own units: so much of one of them alone. */
function inOwnUnits(study, distance) {
    const numeric = study.features.filter((one) => one.kind === 'numeric' && one.high > one.low);
    if (distance === 0) return 'not at all';
    if (numeric.length === 0) return distance < 2 ? 'in part of an answer' : 'in one answer or more';
    if (distance > 2) return 'more than any one feature can differ alone';
    return numeric.slice(0, FEATURES_SAID).map((one) => amountOf(one, distance * (one.high - one.low) / 2)).join(', or ');
}

/** The sentences for a given mu; tested against the command's numbers. */
export function readingFor(mu, delta) {
    return `an attacker who accepts 5% false alarms catches ${rightAtMost(caught(mu, FALSE_ALARMS))}. `
        + `Guessing between the two, they are right ${rightAtMost(guessedRight(mu))} of the time; `
        + `tossing a coin is right 50% of the time. (μ ${cost(mu)}, ε ${cost(epsilonAt(mu, delta))} at δ ${cost(delta)})`;
}

/** The same for ballots, of which distance and mu mean nothing. */
export function ballotReading(guarantee) {
    return `Any two people, whoever they are: an attacker who accepts 5% false alarms catches ${rightAtMost(caughtBallot(guarantee, FALSE_ALARMS))}. `
        + `Guessing between the two, they are right ${rightAtMost(guarantee.attacker_right)} of the time; `
        + `tossing a coin is right 50% of the time. (ε ${cost(guarantee.epsilon)}, δ ${cost(guarantee.delta)})`;
}

function slider() {
    return element('input', { type: 'range', id: 'distance', min: '0', max: String(STEPS), step: '1',
        'aria-describedby': READING });
}

function wordsInto(node, { reviewer, participant, differences }) {
    node.replaceChildren(
        element('h3', { text: 'For the reviewer' }), element('p', { text: reviewer }),
        element('h3', { text: 'For the participant' }), element('p', { text: participant }),
        element('h3', { text: differences.length > 1 ? 'The same for two people who differ in other ways' : 'The same for any two people' }),
        differencesTable(differences));
}

/* Of the budget that devices have by default for all studies together, between any two people. */
function shareOfPolicy(study, guarantee) {
    if (guarantee.mu === null) return 100 * guarantee.epsilon / POLICY.epsilonTotal;
    return 100 * muAt(study, widest(study)) ** 2 * 2 ** 24 / POLICY.budget;
}

/* What the study takes of it, and how costs add up. */
function budgetPart(study, guarantee) {
    const total = releases(study);
    const together = total > 1 ? ` for ${counted(total, 'report')} together` : '';
    return element('div', {}, studyBudget(shareOfPolicy(study, guarantee), POLICY, guarantee.strength !== 'policy', guarantee.mu === null),
        element('p', { class: 'facts', text: `The promise is ε ${cost(guarantee.epsilon)}${together} at δ ${cost(guarantee.delta)}. A device writes a cost down before a byte leaves, and never pays twice for the same round.` }));
}

function choice(study, move) {
    const far = widest(study);
    return landmarks(study).map(({ name, distance }) => element('button', {
        type: 'button', class: 'chip', text: name,
        onclick: () => move(distance / far * STEPS),
    }));
}

/* What an attacker catches, and guesses right: of a ballot, or of a promise at its own distance. */
const caughtOf = (guarantee) => (share) => (guarantee.mu === null ? caughtBallot(guarantee, share) : caught(guarantee.mu, share));
const readingOf = (guarantee) => (guarantee.mu === null ? ballotReading(guarantee)
    : `Two people as far apart as promised: ${readingFor(guarantee.mu, guarantee.delta)}`);

/* A guarantee without distances to choose from: words, curve and what else stands beside them. */
function fixedPart(isOpen, ...beside) {
    const words = element('div', { class: 'prose' });
    const reading = element('p', { id: READING, class: 'reading' });
    const plotted = element('div', { class: 'plot square', id: 'tradeoff' });
    const curve = tradeoffChart(plotted, READING);
    return {
        node: section('What an attacker could learn',
            element('div', { class: 'pair' }, element('div', {}, reading, ...beside), plotted),
            element('div', { class: 'guarantee' }, element('details', isOpen ? { open: '' } : {}, element('summary', { text: 'The guarantee in full' }), words))),
        isFilled: () => words.firstChild !== null,
        fill(guarantee) {
            wordsInto(words, guarantee);
            setText(reading, readingOf(guarantee));
            curve.update({ caught: caughtOf(guarantee) });
        },
    };
}

/** The guarantee of a saved result; null promises nothing. */
export function savedGuarantee(guarantee) {
    if (guarantee === null) return section('What an attacker could learn', element('p', { text: 'Nothing is promised: the computation read raw data.' }));
    const part = fixedPart(true);
    part.fill(guarantee);
    return part.node;
}

/* A ballot protects any two people alike: there is no distance to choose. */
function ballotSection(study) {
    const budget = element('div');
    const part = fixedPart(false, element('h3', { text: 'What it costs a device' }), budget);
    return {
        node: part.node,
        update({ estimate: { guarantee } }) {
            if (guarantee === null || part.isFilled()) return; /* it never changes */
            part.fill(guarantee);
            budget.replaceChildren(budgetPart(study, guarantee));
        },
    };
}

export function guaranteeSection(study) {
    if (isBallot(study)) return ballotSection(study);
    const far = widest(study);
    const promised = promisedDistance(study);
    const input = slider();
    const output = element('output', { for: 'distance' });
    const reading = element('p', { id: READING, class: 'reading' });
    const budget = element('div');
    const words = element('div', { class: 'prose' });
    const plotted = element('div', { class: 'plot square' });
    const curve = tradeoffChart(plotted, READING);
    let guarantee = null;
    let exact = promised; /* a landmark need not lie on a step of the slider */

    function redraw() {
        const mu = exact === promised ? guarantee.mu : muAt(study, exact);
        const plain = inOwnUnits(study, exact);
        setText(output, plain);
        setText(reading, `Two people who differ so much: ${readingFor(mu, guarantee.delta)}`);
        input.setAttribute('aria-valuetext', `${plain}, guessed right ${rightAtMost(guessedRight(mu))}`);
        curve.update({ caught: (share) => caught(mu, share) });
    }
    function move(step) {
        exact = step / STEPS * far;
        input.value = String(step);
        if (guarantee !== null) redraw();
    }
    input.addEventListener('input', () => move(Number(input.value)));
    move(promised / far * STEPS);

    const label = element('label', { for: 'distance' }, 'How much two people differ, all else equal: ', output);
    const control = element('div', { class: 'control' }, label, input,
        element('div', { class: 'chips' }, ...choice(study, move)));
    return {
        node: section('What an attacker could learn',
            element('div', { class: 'pair' }, element('div', {}, control, reading, element('h3', { text: 'What it costs a device' }), budget), plotted),
            element('div', { class: 'guarantee' }, element('details', {}, element('summary', { text: 'The guarantee in full' }), words))),
        update({ estimate }) {
            if (guarantee !== null || estimate.guarantee === null) return; /* it never changes */
            guarantee = estimate.guarantee;
            wordsInto(words, guarantee);
            budget.replaceChildren(budgetPart(study, guarantee));
            redraw();
        },
    };
}
