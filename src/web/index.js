/* index.js -- the dashboard: looks at the address and keeps one view fresh. */
import { element, setText } from './common/dom.js';
import { poll } from './common/poll.js';
import { studiesView } from './study/studies.js';
import { studyView } from './study/study.js';

const main = document.getElementById('main');
const connection = document.getElementById('connection');
const skeleton = document.getElementById('skeleton');
const [, place, id] = location.pathname.split('/');
const isStudy = place === 'studies' && id;
if (!isStudy) skeleton.remove(); /* the list has a frame of its own from the start */
const refresh = isStudy ? studyView(main, id) : studiesView(main);

/* Before there is anything to show the skeleton gives way to what went wrong. */
const trouble = element('p', { class: 'caution', role: 'alert' });

poll(refresh, (error) => {
    const empty = isStudy && (skeleton.isConnected || trouble.isConnected);
    if (error !== null && empty) {
        setText(trouble, `This study cannot be shown yet: ${error.message}. The page asks again by itself.`);
        main.replaceChildren(trouble);
    }
    setText(connection, error === null || empty ? '' : `Not up to date: ${error.message}.`);
});
