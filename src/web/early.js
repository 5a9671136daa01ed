/* early.js -- asks for what a page shows while its program is still on the way.
 *
 * A script of its own, small and not waited for. api.js takes the answers over by their paths; a
 * page that does not need them leaves them. */
import { FIRST_PAGE } from './common/list_path.js';

const [, place, id, page] = location.pathname.split('/');
const ofStudy = (page === 'about' ? ['', '/guarantee'] : ['', '/estimate', '/history']).map((what) => `/v1/studies/${id}${what}`);
const isList = place === '' && location.search === '';
const wanted = place === 'studies' && id ? ofStudy : isList ? [FIRST_PAGE] : [];
if (wanted.length > 0) {
    globalThis.early = new Map(wanted.map((path) => {
        const answer = fetch(path);
        answer.catch(() => {}); /* whoever takes it over hears of it */
        return [path, answer];
    }));
}
