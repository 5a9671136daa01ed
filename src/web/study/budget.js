/* budget.js -- a privacy budget as one bar: what is spent, what a report takes, what is left; and
 * the sentence on how costs add up. */
import { element } from '../common/dom.js';
import { cost, left } from '../common/format.js';

const SVG = 'http://www.w3.org/2000/svg';

function bar(parts) {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('class', 'budget-bar');
    svg.setAttribute('aria-hidden', 'true');
    let from = 0;
    for (const [kind, share] of parts) {
        const rect = document.createElementNS(SVG, 'rect');
        for (const [name, value] of Object.entries({ class: kind, x: `${from}%`, width: `${share}%`, height: '100%' })) rect.setAttribute(name, value);
        svg.append(rect);
        from += share;
    }
    return svg;
}

/** How the costs of several reports add up. */
export function addsUp(ballot) {
    return ballot ? 'Costs add up plainly: two ballots of ε\u00a02 cost ε\u00a04.'
        : 'Noise adds up by squares: two equal reports cost about 1.4 times as much as one, four cost twice as much.';
}

const amount = (kind, value, text) => element('data', { class: kind, value: String(value), text });

/**
 * The bar with its sentence. Shares are of the whole budget, in percent: `now` is left, `takes` is what a
 * report would take (null: nothing is asked).
 */
export function budgetBar({ now, takes, epsilon, ballot }) {
    const whose = 'this browser’s privacy budget';
    const after = takes === null ? now : now - takes;
    const words = takes === null
        ? [amount('spent', 100 - now, `${cost(100 - now, 3)}%`), ' spent, ', amount('left', now, `${left(now, 3)}%`), ` left of ${whose}.`]
        : ['This report takes ', amount('takes', takes, `${cost(takes, 3)}%`), ` of ${whose}; of `, amount('left', now, `${left(now, 3)}%`),
            ' that is left, ', amount('after', after, `${left(after, 3)}%`), ' would remain.'];
    return element('div', { class: 'budget' }, bar([['spent', 100 - now], ...(takes === null ? [] : [['takes', takes]]), ['left', after]]),
        element('p', { class: 'facts' }, ...words, ` The whole is ε ${epsilon} for all studies of this server together. ${addsUp(ballot)}`));
}

/* A device has two limits, one for a study and one for all; both are said, and which of them holds. */
export function limitsSentence(takes, { epsilonPerStudy: one, epsilonTotal: all }, isPast) {
    const whole = `the ε ${all} that a device allows by default for all studies together`;
    const costs = takes <= 100 * (1 + 1e-6) ? `${cost(takes, 2)}% of ${whole}` : `more than ${whole}`;
    const alone = isPast ? `For one study it allows ε ${one} and refuses this one; a device that reports was set to allow more` : `That is within the ε ${one} that it allows for one study`;
    return `Between any two people taking part costs ${costs}. ${alone}.`;
}

/** What a study takes of a whole budget, in percent, for people who have none of it spent. */
export function studyBudget(takes, policy, isPast, ballot) {
    const fits = takes <= 100 * (1 + 1e-6);
    return element('div', { class: 'budget' }, bar(fits ? [[isPast ? 'takes past' : 'takes', takes], ['left', 100 - takes]] : [['takes past', 100]]),
        element('p', { class: 'facts', text: `${limitsSentence(takes, policy, isPast)} ${addsUp(ballot)}` }));
}
