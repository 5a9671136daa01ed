/* theme.js -- light or dark: the system's wish unless the reader said otherwise.
 *
 * dark.css holds the dark colours and nothing else; which of the two holds is
 * the `media` of its link. This script runs before the first paint, so that a
 * reader who chose never sees the other one flash by, and no skeleton of another page. Paper is always light. */
const KEY = 'tremolo-theme';
const BY_SYSTEM = 'screen and (prefers-color-scheme: dark)';
const MEDIA = { dark: 'screen', light: 'not all' };

function remembered() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null; /* storage may be forbidden; the system's wish holds then */
    }
}

function apply(choice) {
    document.getElementById('dark').media = MEDIA[choice] || BY_SYSTEM;
}

function isDark() {
    return matchMedia(document.getElementById('dark').media).matches;
}

function remember(choice) {
    try {
        localStorage.setItem(KEY, choice);
    } catch {
        /* then it holds for this page only */
    }
}

apply(remembered());
/* What stands there until there is something to show has the shape of what will. */
document.documentElement.classList.toggle('is-list', location.pathname === '/');
document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const show = () => { button.textContent = `Switch to ${isDark() ? 'light' : 'dark'}`; };
    button.addEventListener('click', () => {
        const choice = isDark() ? 'light' : 'dark';
        apply(choice);
        remember(choice);
        show();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
    show();
});
