/* contribute.js -- the form, and what became of the answer.
 *
 * Before anything is charged: the study must be open, for anybody, within the
 * policy, and the ledger whole. After it: the same bytes are sent until the
 * server answers, be it in this visit or the next. */
import { BrowserDevice, Refused } from './browser_device.js';
import { budgetBar } from '../study/budget.js';
import { element, section, setText } from '../common/dom.js';
import { exact } from '../common/format.js';
import { bytesList, emptyPreview, integersTable, previewOf } from './leaving.js';
import { POLICY } from './policy.js';
import { isBallot } from '../common/study_terms.js';
import { boundsOf } from '../study/terms.js';

const PREVIEW_MS = 200;

/* What begin() found. */
export const ASKS = 'asks';       /* there is a form */
export const GIVEN = 'given';     /* a report was made before */
export const REFUSES = 'refuses'; /* nothing is asked */

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
    const isOptional = feature.missing !== undefined;
    const empty = isOptional ? `left empty it counts as ${feature.missing}` : '';
    const hint = [isNumeric ? range : '', empty, extra].filter(Boolean).join('; ');
    const attributes = { id, name: id, ...(isOptional ? {} : { required: 'required' }), autocomplete: 'off', 'aria-describedby': `${id}-hint` };
    const inputs = isNumeric ? numberInput(feature, attributes)
        : [element('select', attributes, ...choices(feature.kind === 'yes-no' ? ['no', 'yes'] : feature.levels))];
    return element('div', { class: 'field' }, element('label', { for: id, text: feature.name, dir: 'auto' }),
        element('p', { class: 'hint', id: `${id}-hint`, text: hint, dir: 'auto' }), element('div', {}, ...inputs));
}

function consentWords(study) {
    const open = study.privacy.protects === 'all' ? '' : `, and ${study.response.name} as it is`;
    const sent = isBallot(study) ? 'the reply that chance lets my device give' : 'my values with noise in them';
    return `I send ${sent}${open}. What is sent cannot be taken back.`;
}

const step = (number, title, ...children) => element('div', { class: 'step' },
    element('h3', {}, element('span', { class: 'number', 'aria-hidden': 'true', text: String(number) }), title), ...children);

/* Sentences in one place, as high as the highest of them; one is seen. */
function eitherOf(...texts) {
    const nodes = texts.map((text) => element('p', { class: 'facts', text }));
    const see = (which) => nodes.forEach((node, i) => node.classList.toggle('away', i !== which));
    see(0);
    return { node: element('div', { class: 'either' }, ...nodes), see };
}

/* What will leave, as soon as every question has an answer; drawn anew a moment after each change. Its room is
 * there from the start, so that the button below never moves from under a finger. */
function previewPart(study, device, valuesOf, form) {
    const absurd = isBallot(study) ? '' : ' Values that nobody can have are the noise at work.';
    const words = eitherOf('Answer every question, and an example of it stands here.',
        `For example, drawn just now and not sent. When you send, chance draws again, once.${absurd}`, 'No example could be made.');
    const shown = element('div', { class: 'preview' }, emptyPreview(study));
    let timer = null;
    let turn = 0;
    function put(node, which) {
        shown.replaceChildren(node);
        shown.classList.toggle('drawn', which === 1);
        words.see(which);
    }
    async function draw() {
        const values = valuesOf();
        const complete = form.checkValidity() || values.every((value) => value !== '');
        const mine = ++turn;
        if (!complete) {
            put(emptyPreview(study), 0);
            return;
        }
        try {
            const node = await previewOf(study, device, values);
            if (mine === turn) put(node, 1);
        } catch {
            if (mine === turn) put(emptyPreview(study), 2);
        }
    }
    form.addEventListener('input', () => {
        clearTimeout(timer);
        timer = setTimeout(draw, PREVIEW_MS);
    });
    return element('div', {}, words.node, shown);
}

function formOf(study, device, budget, submitted) {
    const response = { ...study.response, kind: 'numeric' };
    const clear = study.privacy.protects === 'all' ? '' : 'sent as it is';
    const isTypical = isBallot(study);
    const fields = [...study.features.map((feature, i) => field({ ...feature, isTypical }, i, '')),
        field(response, study.features.length, clear)];
    const valuesOf = () => fields.map((one) => one.querySelector('input, select').value);
    const button = element('button', { type: 'submit', class: 'go', text: 'Send once' });
    const form = element('form', { class: 'answers', autocomplete: 'off' });
    form.append(step(1, 'Your answers', element('div', { class: 'fields' }, ...fields)),
        step(2, 'What will leave your device', previewPart(study, device, valuesOf, form)),
        step(3, 'Send', budget, element('div', { class: 'consent' }, element('input', { type: 'checkbox', id: 'consent', required: 'required' }),
            element('label', { for: 'consent', text: consentWords(study) })), button));
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        button.disabled = true;
        submitted(valuesOf());
        form.reset(); /* the answers stay nowhere */
    });
    return form;
}

/* ---------------------------------------------------------------- the budget */

/* Units of the ledger as a share of its budget, in percent. */
const shareOf = (units, ballot) => 100 * units / (ballot ? POLICY.epsilon : POLICY.budget);

function budgetOf(now, takes, ballot) {
    return budgetBar({ now: shareOf(now, ballot), takes: takes === null ? null : shareOf(takes, ballot), epsilon: POLICY.epsilonTotal, ballot });
}

/* ---------------------------------------------------------------- sending */

const THANKS = 'Thank you';
const KEPT = 'The server could not be reached. Your report is kept and will be sent again, the same bytes, now or when you come back to this page.';

export function contributeSection(study, device, id) {
    const status = element('p', { class: 'outcome', role: 'status', tabindex: '-1' });
    const place = element('div');
    const node = section('Take part', status, place);
    const heading = node.querySelector('h2');
    const tell = (words) => { status.textContent = words; };
    const refuse = (words) => {
        tell(words);
        return REFUSES;
    };

    async function showSent(bytes) {
        place.replaceChildren(element('details', { class: 'sent' }, element('summary', { text: 'What is sent, byte by byte' }),
            bytesList(bytes, isBallot(study)), integersTable(study, await device.read(bytes), 'The integers in your report', bytes)));
    }

    /* With the way to the results, what is left, and the same bytes once more for whoever wants that. */
    async function showAnswered(round, bytes) {
        place.prepend(element('p', {}, element('a', { href: `/studies/${id}`, text: 'See what the study has learnt so far' })),
            budgetOf(await device.left(), null, isBallot(study)));
        place.querySelector('.sent summary').textContent = 'What was sent, byte by byte';
        place.querySelector('.sent').append(element('button', { type: 'button', class: 'chip', text: 'Send again',
            onclick: () => run(round, async () => bytes) }));
    }

    async function finish(round, bytes) {
        tell('Sending…');
        await showSent(bytes);
        const receipt = await device.send(bytes, () => tell(KEPT));
        /* Where it cannot be noted, the next visit sends the same bytes: no harm. */
        await device.noteAnswer(round, bytes).catch(() => {});
        await showAnswered(round, bytes);
        heading.textContent = THANKS;
        tell(receipt.accepted > 0 ? 'Your report was accepted; it counts once.'
            : 'Your report had arrived before; it counts once. The same bytes were sent again.');
    }

    /* What was pressed is about to vanish, so the focus moves to the news. */
    async function run(round, bytesOf) {
        tell(isBallot(study) ? 'Choosing the answer…' : 'Adding the noise…');
        place.replaceChildren();
        node.parentElement?.querySelector('.head')?.after(node); /* the news comes first, on a phone, too */
        status.focus({ preventScroll: true });
        scrollTo(0, 0);
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
        heading.textContent = THANKS;
        return tell('You have taken part: your report has arrived, and it counts once. Nothing is sent now.');
    }

    /* Null, or why nothing is asked. */
    async function obstacle(round) {
        if (study.limits.enrolment === 'keys') {
            return 'This study takes reports of enrolled devices only: each has a key that belongs to it, and a page has none. Use the device or the program you were given.';
        }
        return BrowserDevice.missing() ?? CLOSED[round.state] ?? (await device.cost()).refusal;
    }

    function toldFailure(error) {
        return refuse(error instanceof Refused ? error.message : `Taking part is not possible now: ${error.message}.`);
    }

    /* Done when there is something to show: what was found. */
    async function begin() {
        const round = await device.round();
        const reason = await obstacle(round);
        if (reason !== null) return refuse(reason);
        const stored = await device.stored(round);
        if (stored !== null) {
            resume(round, stored).catch(toldFailure); /* it may take as long as the server is away */
            return GIVEN;
        }
        const { charge } = await device.cost();
        const units = await device.left();
        if (charge > units) return refuse('You cannot take part here: this study costs more than what is left of this browser’s privacy budget. Nothing is asked.');
        place.append(formOf(study, device, budgetOf(units, charge, isBallot(study)), (values) => run(round, async () => device.make(round, values))));
        return ASKS;
    }

    return { node, begin: () => begin().catch(toldFailure) };
}
