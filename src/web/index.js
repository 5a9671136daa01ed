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

/* Before there is anything to show what went wrong is said in its place. */
const trouble = element('p', { class: 'caution', role: 'alert' });
const isWaiting = () => (isStudy ? skeleton.isConnected || trouble.isConnected : main.querySelector('.waits') !== null);

poll(refresh, (error) => {
    const empty = isWaiting();
    if (error !== null && empty) {
        setText(trouble, `${isStudy ? 'This study' : 'The list'} cannot be shown yet: ${error.message}. The page asks again by itself.`);
        if (isStudy) main.replaceChildren(trouble);
        else main.querySelector('.head').after(trouble);
    }
    if (error === null && !isStudy) trouble.remove();
    setText(connection, error === null || empty ? '' : `Not up to date: ${error.message}.`);
});
