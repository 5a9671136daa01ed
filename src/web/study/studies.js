/* studies.js -- the list of studies: found, sorted, a page at a time.
 *
 * The server finds and sorts (GET /v1/studies), so ten thousand studies cost the page what twenty-five do.
 * What is asked stands in the address: it survives a reload, and can be handed on. */
import * as api from '../common/api.js';
import { element, keyed, nextFrame, setText, show } from '../common/dom.js';
import { count, counted, moment } from '../common/format.js';
import { badge } from './gauge.js';
import { PAGE } from '../common/list_path.js';
import { neededWords, sentenceNodes, sentenceText } from './learnt.js';
import { stateChip } from './state.js';

const TYPING_MS = 250;
const ROWS_AT_ONCE = 6;
const BONES = 6; /* rows that stand there until there are some */
const ID_SHOWN = 8; /* letters of an id, where titles alone do not tell studies apart; the search finds them */
/* What the server sorts by, and which way is the usual one. */
const COLUMNS = [
    { name: 'Study', sort: 'title', order: 'up' },
    { name: 'Devices', sort: 'devices', order: 'down' },
    { name: 'Learnt', sort: 'told', order: 'down' },
    { name: 'Private', sort: 'privacy', order: 'up' },
    { name: 'Last report', sort: 'last_report', order: 'down' },
    { name: 'State', sort: 'state', order: 'up' },
];

/* ---------------------------------------------------------------- what is asked */

function wishFromAddress() {
    const asked = new URLSearchParams(location.search);
    const known = COLUMNS.find((column) => column.sort === asked.get('sort'));
    return {
        search: asked.get('search') ?? '',
        sort: known ? known.sort : 'created',
        order: asked.get('order') === 'down' ? 'down' : 'up',
        page: Math.max(0, Math.floor(Number(asked.get('page') ?? 1)) - 1 || 0),
    };
}

function rememberInAddress({ search, sort, order, page }) {
    const words = new URLSearchParams();
    if (search) words.set('search', search);
    if (sort !== 'created') words.set('sort', sort);
    if (sort !== 'created' && order === 'down') words.set('order', order);
    if (page > 0) words.set('page', String(page + 1));
    const text = words.toString();
    history.replaceState(null, '', text ? `?${text}` : location.pathname);
}

/* ---------------------------------------------------------------- rows */

const cell = (label, ...nodes) => element('td', { role: 'cell', 'data-label': label, class: `in-${label.toLowerCase().replace(' ', '-')}` }, ...nodes);

/* How many came, of how many it takes; a bar until they are there. */
function devicesCell() {
    const amount = element('span', { class: 'amount' });
    const needed = element('span', { class: 'facts' });
    const bar = element('meter', { min: '0', max: '1' });
    return {
        node: cell('Devices', element('span', { class: 'pile' }, element('span', {}, amount, needed), bar)),
        update({ devices, summary, state }) {
            const wanted = summary?.devices_needed ?? null;
            setText(amount, count(devices));
            const lacks = wanted !== null && devices < wanted;
            setText(needed, neededWords({ devices, needed: wanted, isTold: summary?.learnt != null, state }));
            bar.value = lacks ? devices / wanted : 0;
            bar.setAttribute('aria-label', 'devices of those needed');
            show(bar, lacks);
        },
    };
}

function learntParts({ summary, devices, state }) {
    if (summary === null) return ['…'];
    if (summary.learnt === null) return [`${devices > 0 ? 'Nothing' : 'No reports'}${state === 'done' ? '' : ' yet'}`];
    const rest = summary.told - 1;
    return [...summary.learnt, rest > 0 ? `; ${counted(rest, 'more effect')}` : ''];
}

function learntCell() {
    const words = element('span');
    let shown = null;
    return {
        node: cell('Learnt', words),
        update(study) {
            const parts = learntParts(study);
            const text = sentenceText(parts);
            if (text === shown) return;
            shown = text;
            words.replaceChildren(...sentenceNodes(parts));
            words.className = study.summary?.learnt ? '' : 'facts';
        },
    };
}

function privateCell() {
    const mark = badge();
    const early = element('span', { class: 'facts', text: '…' });
    return {
        node: cell('Private', mark.node, early),
        update({ summary }) {
            show(mark.node, summary !== null);
            show(early, summary === null);
            if (summary !== null) mark.update(summary.guarantee);
        },
    };
}

/** Studies with their names: those whose title another one on the page has, too, in letters of whatever case, get
 * the beginning of their id. */
export function named(studies) {
    const keyOf = ({ title }) => title.trim().toLowerCase();
    const times = new Map();
    for (const study of studies) times.set(keyOf(study), (times.get(keyOf(study)) ?? 0) + 1);
    return studies.map((study) => ({ ...study, shortId: times.get(keyOf(study)) > 1 ? study.id.slice(0, ID_SHOWN) : '' }));
}

function lastWords({ last_report: last, reports }) {
    if (last === null) return reports > 0 ? 'before the last start' : 'none';
    return moment(last);
}

function row() {
    const title = element('a', { dir: 'auto' });
    const facts = element('span', { class: 'facts' });
    const shortId = element('code', { class: 'facts' });
    const state = stateChip();
    const last = element('span', { class: 'facts' });
    const parts = [devicesCell(), learntCell(), privateCell()];
    const node = element('tr', { role: 'row', class: 'study' },
        element('th', { scope: 'row', role: 'rowheader' }, title, shortId, facts),
        ...parts.map((part) => part.node), cell('Last report', last), cell('State', state.node));
    return {
        node,
        update(study) {
            setText(title, study.title);
            title.href = `/studies/${study.id}`;
            setText(shortId, study.shortId);
            show(shortId, study.shortId !== '');
            setText(facts, `${study.shortId === '' ? '' : ' · '}${counted(study.dimension, 'feature')}${study.rounds > 1 ? `, round ${study.round + 1} of ${study.rounds}` : ''}`);
            parts.forEach((part) => part.update(study));
            setText(last, lastWords(study));
            state.update(study.state);
        },
    };
}

/* ---------------------------------------------------------------- table and controls */

/* Heads that sort; asked again, the other way round. */
function heads(wish, change) {
    const cells = COLUMNS.map((column) => {
        const arrow = element('span', { 'aria-hidden': 'true' });
        const press = () => {
            const again = wish.sort === column.sort;
            change({ sort: column.sort, order: again ? { up: 'down', down: 'up' }[wish.order] : column.order });
        };
        const button = element('button', { type: 'button', class: 'sorter', onclick: press }, column.name, arrow);
        return { column, arrow, node: element('th', { scope: 'col', role: 'columnheader' }, button) };
    });
    return {
        nodes: cells.map((one) => one.node),
        update() {
            cells.forEach(({ column, arrow, node }) => {
                const chosen = wish.sort === column.sort;
                setText(arrow, chosen ? { up: ' ▲', down: ' ▼' }[wish.order] : ' ↕');
                if (chosen) node.setAttribute('aria-sort', wish.order === 'up' ? 'ascending' : 'descending');
                else node.removeAttribute('aria-sort');
            });
        },
    };
}

function pager(wish, change) {
    const words = element('span', { role: 'status' });
    const back = element('button', { type: 'button', class: 'chip', text: 'Previous', onclick: () => change({ page: wish.page - 1 }) });
    const on = element('button', { type: 'button', class: 'chip', text: 'Next', onclick: () => change({ page: wish.page + 1 }) });
    show(back, false);
    show(on, false);
    return {
        node: element('nav', { class: 'pager', 'aria-label': 'Pages of the list' }, words, back, on),
        update(shown, matching) {
            const first = wish.page * PAGE;
            setText(words, shown > 0 ? `${count(first + 1)} to ${count(first + shown)} of ${count(matching)}` : 'none');
            back.disabled = wish.page === 0;
            on.disabled = first + shown >= matching;
            show(back, matching > PAGE);
            show(on, matching > PAGE);
        },
    };
}

function searchField(wish, change) {
    let timer = null;
    const type = (event) => {
        clearTimeout(timer);
        timer = setTimeout(() => change({ search: event.target.value.trim() }), TYPING_MS);
    };
    const input = element('input', { type: 'search', name: 'search', autocomplete: 'off', maxlength: '200', dir: 'auto', oninput: type });
    input.value = wish.search;
    return element('label', { class: 'find' }, 'Search ', input);
}

function emptyCard() {
    return element('div', { class: 'card empty', hidden: '' },
        element('h2', { text: 'There is no study on this server yet' }),
        element('p', { text: 'Whoever runs it makes one, on the machine it runs on:' }),
        element('pre', {}, element('code', { text: 'tremolo study init > study.json\n'
            + `tremolo study publish study.json ${location.origin} --token-file DATA/operator.token` })),
        element('p', { class: 'facts', text: 'This page shows it as soon as it is there.' }));
}

/* Rows of about the shape of what will come. */
function bones() {
    const row = () => element('tr', { role: 'presentation' }, ...COLUMNS.map(() => element('td', { role: 'presentation' }, element('span', { class: 'bone' }))));
    return element('tbody', { role: 'presentation', 'aria-hidden': 'true', class: 'bones' }, ...Array.from({ length: BONES }, row));
}

/** Fill the page; the answer is what to ask again and again. */
export function studiesView(main) {
    const wish = wishFromAddress();
    const body = element('tbody', { role: 'rowgroup' });
    const update = keyed(body, (study) => study.id, row);
    const empty = emptyCard();
    const nothing = element('p', { class: 'facts', hidden: '', text: 'No study has that in its title.' });

    async function refresh() {
        const asked = JSON.stringify(wish);
        const answer = await api.studies({ search: wish.search, sort: wish.sort, order: wish.order, offset: wish.page * PAGE, limit: PAGE });
        if (asked !== JSON.stringify(wish)) return; /* somebody wants another page by now */
        if (answer.studies.length === 0 && wish.page > 0 && answer.matching > 0) {
            wish.page = Math.ceil(answer.matching / PAGE) - 1;
            await refresh();
            return;
        }
        const rows = named(answer.studies);
        waiting.remove();
        /* Rows that are new appear a few at a time, so that a phone is never laying out for long. */
        for (let shown = Math.max(body.children.length, ROWS_AT_ONCE); shown < answer.studies.length; shown += ROWS_AT_ONCE) {
            update(rows.slice(0, shown));
            await nextFrame();
            if (asked !== JSON.stringify(wish)) return;
        }
        update(rows);
        pages.update(answer.studies.length, answer.matching);
        show(empty, answer.total === 0);
        show(nothing, answer.total > 0 && answer.matching === 0);
        show(whole, answer.total > 0);
        table.classList.remove('waits');
    }

    function change(part) {
        Object.assign(wish, { page: 0 }, part);
        rememberInAddress(wish);
        head.update();
        refresh().catch(() => {}); /* poll() says what is wrong */
    }

    const head = heads(wish, change);
    const pages = pager(wish, change);
    const waiting = bones();
    const table = element('table', { role: 'table', class: 'studies waits' },
        element('caption', { class: 'unseen', text: 'Studies of this server' }),
        element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...head.nodes)), body, waiting);
    const whole = element('section', { class: 'card', 'aria-label': 'Studies' },
        element('div', { class: 'controls' }, searchField(wish, change), pages.node), table, nothing);
    head.update();
    main.append(element('header', { class: 'head' }, element('h1', { text: 'Studies' }),
        element('p', { class: 'purpose', text: 'What fleets of devices say together, without any of them telling.' })), empty, whole);
    document.title = 'Studies · tremolo';
    return refresh;
}
