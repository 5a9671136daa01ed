/* upload.mjs -- a report's bytes to the server, the same ones until it has answered
 * (docs/reference/protocol.md, "Trying again"). */
import { toBase64 } from "./study_id.mjs";
import { TremoloError } from "./tremolo.mjs";

const LATER = new Set([408, 425, 429, 500, 502, 503, 504]);
const REQUEST_MS = 20000;
const WAIT_MS = 1000;
const WAIT_MAX_MS = 30000;
const DETAIL_MAX = 500;

/** @typedef {import("./study.mjs").Study} Study
 *  @typedef {{ accepted: number, repeated: number }} Receipt
 *  @typedef {Object} UploadOptions
 *  @property {number} [patienceMs]  how long to try; Infinity: as long as the program runs. 120000 unless given
 *  @property {Uint8Array} [deviceName]  in a study with enrolment keys
 *  @property {AbortSignal} [signal]  stops trying; the report is kept, and nothing is lost
 *  @property {(waitMs: number) => void} [onRetry]  called before each pause */

/* So long, or until the browser is back on the network. */
/** @param {number} milliseconds
 *  @param {AbortSignal} [signal] */
const pause = (milliseconds, signal) => new Promise((resolve) => {
    const done = () => {
        clearTimeout(timer);
        globalThis.removeEventListener?.("online", done);
        signal?.removeEventListener("abort", done);
        resolve(undefined);
    };
    const timer = setTimeout(done, milliseconds);
    globalThis.addEventListener?.("online", done);
    signal?.addEventListener("abort", done);
});

/** @param {Response} response */
async function detailOf(response) {
    const problem = await response.json().catch(() => null);
    return String(problem?.detail ?? problem?.title ?? `it answered ${response.status}`).slice(0, DETAIL_MAX);
}

/* The receipt, or the seconds that the server asks to wait at least. */
/** @param {Study} study
 *  @param {Uint8Array} bytes
 *  @param {UploadOptions} options
 *  @returns {Promise<Receipt | number>} */
async function tryOnce(study, bytes, { deviceName, signal }) {
    /** @type {AbortSignal} */
    const limit = /** @type {any} */ (AbortSignal).timeout(REQUEST_MS);
    const stop = new AbortController();
    for (const one of [limit, signal]) one?.addEventListener("abort", () => stop.abort(), { once: true });
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/cbor" };
    if (deviceName) headers["Tremolo-Device"] = toBase64(deviceName);
    /** @type {Response} */
    let response;
    try {
        response = await fetch(`${study.url}/reports`, { method: "POST", headers, body: bytes, signal: stop.signal });
    } catch {
        return 0;
    }
    if (LATER.has(response.status)) return Number(response.headers.get("Retry-After")) || 0;
    if (!response.ok) {
        throw new TremoloError(response.status === 410 ? "ROUND_CLOSED" : "SERVER_REFUSED", await detailOf(response));
    }
    return response.json().catch(() => 0);
}

/** Send a report until the server has answered. SERVER_REFUSED or ROUND_CLOSED when it does not
 * take it, NETWORK_FAILED when there was no answer in time: call again later, with the same bytes.
 * @param {Study} study
 * @param {Uint8Array} bytes
 * @param {UploadOptions} [options]
 * @returns {Promise<Receipt>} */
export async function upload(study, bytes, options = {}) {
    const { patienceMs = 120000, signal, onRetry = () => {} } = options;
    const deadline = Date.now() + patienceMs;
    for (let wait = WAIT_MS; ; wait = Math.min(2 * wait, WAIT_MAX_MS)) {
        const answer = signal?.aborted ? 0 : await tryOnce(study, bytes, options);
        if (typeof answer !== "number") return answer;
        const own = wait * (0.5 + Math.random() / 2);
        const asked = 1000 * answer * (1 + Math.random() / 10);
        const next = Math.max(own, asked);
        if (signal?.aborted || Date.now() + next > deadline) {
            throw new TremoloError("NETWORK_FAILED", "the server did not answer in time; the report is kept");
        }
        onRetry(next);
        await pause(next, signal);
    }
}
