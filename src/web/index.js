/* index.js -- the dashboard: looks at the address and keeps one view fresh. */
import { setText } from './dom.js';
import { poll } from './poll.js';
import { studiesView } from './studies.js';
import { studyView } from './study.js';

const main = document.getElementById('main');
const connection = document.getElementById('connection');
const [, place, id] = location.pathname.split('/');
const refresh = place === 'studies' && id ? studyView(main, id) : studiesView(main);

poll(refresh, (error) => {
    setText(connection, error === null ? '' : `Not up to date: ${error.message}.`);
});
