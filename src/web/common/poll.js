/* poll.js -- ask again and again, gently.
 *
 * One question is under way at a time and the next follows a pause, so that a
 * slow server is never asked faster than it answers. A page that nobody looks at
 * asks nothing; it asks at once when it is looked at again. */
const PAUSE_MS = 1500;
const PAUSE_MAX_MS = 30000;

/**
 * Call `ask` now and from then on. `heard(error)` gets null after a success,
 * the error after a failure.
 * @returns {() => void} stops it
 */
export function poll(ask, heard) {
    let timer = null;
    let stopped = false;
    let busy = false;
    let pause = PAUSE_MS;

    async function turn() {
        timer = null;
        if (busy || stopped || document.hidden) return;
        busy = true;
        try {
            await ask();
            pause = PAUSE_MS;
            heard(null);
        } catch (error) {
            pause = Math.min(pause * 2, PAUSE_MAX_MS);
            heard(error);
        } finally { /* whatever happened, there is a next time */
            busy = false;
            if (!stopped && timer === null) timer = setTimeout(turn, pause);
        }
    }

    function looked() {
        if (!document.hidden && timer !== null) {
            clearTimeout(timer);
            timer = null;
        }
        if (!document.hidden && timer === null) turn();
    }

    document.addEventListener('visibilitychange', looked);
    turn();
    return () => {
        stopped = true;
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', looked);
    };
}
