/* studies.js -- the list of studies. */
import * as api from './api.js';
import { element, keyed, setText, show } from './dom.js';
import { count } from './format.js';

function card(study) {
    const title = element('a', { href: `/studies/${study.id}` });
    const facts = element('p', { class: 'facts' });
    const node = element('li', { class: 'card study' }, element('h2', {}, title), facts);
    return {
        node,
        update(now) {
            setText(title, now.title);
            const rounds = now.rounds > 1 ? ` · round ${now.round + 1} of ${now.rounds}` : '';
            setText(facts, `${count(now.reports)} reports · ${count(now.dimension)} coordinates${rounds} · ${now.state}`);
        },
    };
}

/** Fill the page; the answer is what to ask again and again. */
export function studiesView(main) {
    const list = element('ul', { class: 'studies' });
    const empty = element('p', { class: 'empty', hidden: '',
        text: 'There is no study on this server yet. The operator creates one with “tremolo study”.' });
    main.append(element('h1', { text: 'Studies' }), empty, list);
    document.title = 'Studies · tremolo';
    const update = keyed(list, (study) => study.id, card);
    return async () => {
        const studies = await api.studies();
        show(empty, studies.length === 0);
        update(studies);
    };
}
