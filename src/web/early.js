/* early.js -- asks for what a study's page shows while its program is still on the way.
 *
 * A script of its own, small and not waited for. api.js takes the answers over by their paths; a
 * page that does not need them leaves them. */
const [, place, id, page] = location.pathname.split('/');
const wanted = page === 'about' ? ['', '/guarantee'] : ['', '/estimate', '/history'];
if (place === 'studies' && id) {
    globalThis.early = new Map(wanted.map((what) => {
        const path = `/v1/studies/${id}${what}`;
        const answer = fetch(path);
        answer.catch(() => {}); /* whoever takes it over hears of it */
        return [path, answer];
    }));
}
