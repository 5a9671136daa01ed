/* studies.js -- the list of studies. */
import * as api from './api.js';
import { element, keyed, setText, show } from './dom.js';
import { count, counted } from './format.js';
import { stateChip } from './state.js';

function card(study) {
    const title = element('a', { href: `/studies/${study.id}` });
    const state = stateChip();
    const facts = element('p', { class: 'facts' });
    const devices = element('span', { class: 'amount' });
    const noun = element('span');
    const node = element('li', { class: 'card study' },
        element('div', {}, element('h2', {}, title), facts),
        element('p', { class: 'devices' }, devices, ' ', noun), state.node);
    return {
        node,
        update(now) {
            setText(title, now.title);
            state.update(now.state);
            setText(devices, count(now.devices));
            setText(noun, now.devices === 1 ? 'device' : 'devices');
            const rounds = now.rounds > 1 ? ` · round ${now.round + 1} of ${now.rounds}` : ' · one round';
            setText(facts, `${counted(now.dimension, 'coordinate')}${rounds}`);
        },
    };
}

/** Fill the page; the answer is what to ask again and again. */
export function studiesView(main) {
    const list = element('ul', { class: 'studies' });
    const empty = element('p', { class: 'empty', hidden: '',
        text: 'There is no study on this server yet. Its operator creates one.' });
    main.append(element('header', { class: 'head' }, element('h1', { text: 'Studies' }),
        element('p', { class: 'purpose', text: 'What fleets of devices say together, without any of them telling.' })), empty, list);
    document.title = 'Studies · tremolo';
    const update = keyed(list, (study) => study.id, card);
    return async () => {
        const studies = await api.studies();
        show(empty, studies.length === 0);
        update(studies);
    };
}
