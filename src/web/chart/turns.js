/* turns.js -- when a chart is drawn: one chart a task, those near the screen first.
 *
 * One that is not near is drawn once, when the browser has nothing else to do, so that the page can be searched
 * and pictured as a whole; from then on it is drawn anew when it comes near. So a page with fifty
 * charts answers a touch between any two of them, and refreshing those that nobody looks at costs nothing.
 * Paper shows everything: all that waits is drawn before a page is printed. */
const NEAR = '50% 0px'; /* half a screen above and below */
const IDLE_MS_MAX = 1000;

const waiting = new Set(); /* {draw, isNear, isDrawn}, in the order in which they asked */
const turnOf = new WeakMap();
let watcher = null;

const first = (fits) => [...waiting].find(fits);
const isNear = (one) => one.isNear;
const isNew = (one) => !one.isDrawn;
const soon = (run) => setTimeout(run);
const whenIdle = (run) => (globalThis.requestIdleCallback ? requestIdleCallback(run, { timeout: IDLE_MS_MAX }) : setTimeout(run, IDLE_MS_MAX / 10));

function draw(one) {
    waiting.delete(one);
    one.isDrawn = true;
    one.draw();
}

/* Draws whoever fits, one at a time, as long as there is somebody. */
function queue(fits, later) {
    let isPlanned = false;
    return function plan() {
        if (isPlanned || !first(fits)) return;
        isPlanned = true;
        later(() => {
            isPlanned = false;
            const one = first(fits);
            if (one) draw(one);
            plan();
        });
    };
}

const planNear = queue(isNear, soon);
const planNew = queue(isNew, whenIdle);

function plan() {
    planNear();
    planNew();
}

function watch(container) {
    if (watcher === null) {
        watcher = new IntersectionObserver((entries) => {
            entries.forEach(({ target, isIntersecting }) => { turnOf.get(target).isNear = isIntersecting; });
            plan();
        }, { rootMargin: NEAR });
        addEventListener('beforeprint', () => [...waiting].forEach(draw));
    }
    watcher.observe(container);
}

/** @returns {() => void} asks for `run` to be called when it is this container's turn */
export function turn(container, run) {
    const one = { draw: run, isNear: false, isDrawn: false };
    turnOf.set(container, one);
    watch(container);
    return () => {
        waiting.add(one);
        plan();
    };
}
