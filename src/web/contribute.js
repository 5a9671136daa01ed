/* contribute.js -- the form, and what became of the answer.
 *
 * Before anything is charged: the study must be open, for anybody, within the
 * policy, and the ledger whole. After it: the same bytes are sent until the
 * server answers, be it in this visit or the next. */
import { BrowserDevice, Refused } from './browser_device.js';
import { element, section, setText } from './dom.js';
import { cost, exact, left } from './format.js';
import { bytesList, integersTable } from './leaving.js';
import { POLICY } from './policy.js';
import { isBallot } from './study_terms.js';
import { boundsOf } from './terms.js';

const CLOSED = {
    done: 'This study is closed. Nothing is asked any more.',
    waiting: 'This study is not open at the moment. Come back later; nothing is asked until then.',
};

/* ---------------------------------------------------------------- the form */

function choices(words) {
    const options = words.map((text) => element('option', { value: text, text }));
    return [element('option', { value: '', text: 'Choose…' }), ...options];
}

/* What becomes of a number beyond its bounds; nothing of any other. */
function beyondWords({ low, high }, text) {
    const value = Number(text);
    if (text === '' || (value >= low && value <= high)) return '';
    return value < low ? `It will count as ${exact(low)}, the lowest.` : `It will count as ${exact(high)}, the highest.`;
}

/* A number may lie beyond its bounds: the device takes the bound then, and the
 * page says so rather than making people type something that is not so. Beyond a
 * typical range it counts as it is. */
function numberInput(feature, attributes) {
    if (feature.isTypical) return [element('input', { ...attributes, type: 'number', inputmode: 'decimal', step: 'any' })];
    const note = element('p', { class: 'hint beyond', id: `${attributes.id}-beyond`, role: 'status' });
    const input = element('input', { ...attributes, type: 'number', inputmode: 'decimal', step: 'any',
        'aria-describedby': `${attributes['aria-describedby']} ${note.id}` });
    input.addEventListener('input', () => setText(note, beyondWords(feature, input.value)));
    return [input, note];
}

function field(feature, place, extra) {
    const id = `answer-${place}`;
    const isNumeric = feature.kind === 'numeric';
    const range = feature.isTypical ? `about ${boundsOf(feature)}` : boundsOf(feature);
    const hint = [isNumeric ? range : '', extra].filter(Boolean).join('; ');
    const attributes = { id, name: id, required: 'required', autocomplete: 'off', 'aria-describedby': `${id}-hint` };
    const inputs = isNumeric ? numberInput(feature, attributes)
        : [element('select', attributes, ...choices(feature.kind === 'yes-no' ? ['no', 'yes'] : feature.levels))];
    return element('div', { class: 'field' }, element('label', { for: id, text: feature.name }),
        element('p', { class: 'hint', id: `${id}-hint`, text: hint }), ...inputs);
}

function consentWords(study) {
    const open = study.privacy.protects === 'all' ? '' : `, and ${study.response.name} as it is`;
    const sent = isBallot(study) ? 'the answer that chance lets my device give' : 'my values with noise in them';
    return `I have read what leaves my device and what could be learnt from it, and I send ${sent}${open}. `
        + 'What is sent cannot be taken back.';
}

function formOf(study, submitted) {
    const response = { ...study.response, kind: 'numeric' };
    const clear = study.privacy.protects === 'all' ? '' : 'sent as it is';
    const isTypical = isBallot(study);
    const fields = [...study.features.map((feature, i) => field({ ...feature, isTypical }, i, '')),
        field(response, study.features.length, clear)];
    const button = element('button', { type: 'submit', class: 'go', text: 'Contribute once' });
    const form = element('form', { class: 'answers', autocomplete: 'off' }, ...fields,
        element('div', { class: 'consent' }, element('input', { type: 'checkbox', id: 'consent', required: 'required' }),
            element('label', { for: 'consent', text: consentWords(study) })), button);
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        button.disabled = true;
        submitted(fields.map((one) => one.querySelector('input, select').value));
        form.reset(); /* the answers stay nowhere */
    });
    return form;
}

/* ---------------------------------------------------------------- the budget */

/* Rows are [name, units, words]: a cost rounds up, what is left rounds down. */
function budgetTable(rows, ballot) {
    const share = (units) => 100 * units / (ballot ? POLICY.epsilon : POLICY.budget);
    const head = ['', 'Share of it', 'As an ε of its own'].map((text) => element(text ? 'th' : 'td', { text, ...(text && { scope: 'col' }) }));
    return element('table', { class: 'budget' },
        element('caption', { text: `This browser’s privacy budget for all studies of this server together: ε ${POLICY.epsilonTotal} at δ ${cost(POLICY.delta)}` }),
        element('thead', {}, element('tr', {}, ...head)),
        element('tbody', {}, ...rows.map(([name, units, words]) => element('tr', {}, element('th', { scope: 'row', text: name }),
            element('td', { text: `${words(share(units), 3)}%` }), element('td', { text: words(POLICY.epsilonOfCharge(units, ballot), 3) })))));
}

/* ---------------------------------------------------------------- sending */

const KEPT = 'The server could not be reached. Your report is kept and will be sent again, the same bytes, now or when you come back to this page.';

export function contributeSection(study, device) {
    const status = element('p', { class: 'outcome', role: 'status', tabindex: '-1' });
    const place = element('div');
    const node = section('Take part', status, place);
    const tell = (words) => { status.textContent = words; };

    async function showSent(bytes) {
        place.replaceChildren(element('h3', { text: 'What was sent' }), bytesList(bytes, isBallot(study)),
            integersTable(study, await device.read(bytes), 'The integers in your report', bytes));
    }

    /* With what is left, and with the same bytes once more for whoever wants that. */
    async function showAnswered(round, bytes) {
        place.prepend(budgetTable([['Left now', await device.left(), left]], isBallot(study)));
        place.append(element('button', { type: 'button', class: 'chip', text: 'Send again',
            onclick: () => run(round, async () => bytes) }));
    }

    async function finish(round, bytes) {
        tell('Sending…');
        await showSent(bytes);
        const receipt = await device.send(bytes, () => tell(KEPT));
        /* Where it cannot be noted, the next visit sends the same bytes: no harm. */
        await device.noteAnswer(round, bytes).catch(() => {});
        await showAnswered(round, bytes);
        tell(receipt.accepted > 0 ? 'Thank you. Your report was accepted; it counts once.'
            : 'Your report had arrived before; it counts once. The same bytes were sent again.');
    }

    /* What was pressed is about to vanish, so the focus moves to the news. */
    async function run(round, bytesOf) {
        tell(isBallot(study) ? 'Choosing the answer…' : 'Adding the noise…');
        status.focus();
        try {
            await finish(round, await bytesOf());
        } catch (error) {
            place.replaceChildren();
            tell(error instanceof Refused ? error.message : `Something went wrong: ${error.message}.`);
        }
    }

    /* What an earlier visit made: answered, or to be sent until it is. */
    async function resume(round, bytes) {
        if (!await device.wasAnswered(round, bytes)) return finish(round, bytes);
        await showSent(bytes);
        await showAnswered(round, bytes);
        return tell('You have taken part: your report has arrived, and it counts once. Nothing is sent now.');
    }

    /* Null, or why nothing is asked. */
    async function obstacle(round) {
        if (study.limits.enrolment === 'keys') {
            return 'This study takes reports of enrolled devices only: each has a key that belongs to it, and a page has none. Use the device or the program you were given.';
        }
        return BrowserDevice.missing() ?? CLOSED[round.state] ?? (await device.cost()).refusal;
    }

    async function begin() {
        const round = await device.round();
        const reason = await obstacle(round);
        if (reason !== null) return tell(reason);
        const stored = await device.stored(round);
        if (stored !== null) return resume(round, stored);
        const { charge } = await device.cost();
        const units = await device.left();
        if (charge > units) return tell('This study costs more than what is left of this browser’s privacy budget. Nothing is asked.');
        place.append(budgetTable([['Left now', units, left], ['This report costs', charge, cost], ['Left afterwards', units - charge, left]], isBallot(study)),
            formOf(study, (values) => run(round, async () => device.make(round, values))));
        return undefined;
    }

    return {
        node,
        begin: () => begin().catch((error) => tell(error instanceof Refused ? error.message : `Taking part is not possible now: ${error.message}.`)),
    };
}
