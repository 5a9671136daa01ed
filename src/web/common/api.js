/* api.js -- asking this server, and nobody else. */
import { listPath } from './list_path.js';

const PATIENCE_MS = 20000;

/** What the server said when it refused, or that it could not be reached. */
export class Refusal extends Error {
    constructor(status, words) {
        super(words);
        this.status = status;
    }
}

async function sentenceOf(response) {
    try {
        const problem = await response.json();
        return problem.detail || problem.title;
    } catch {
        return `the server answered ${response.status}`;
    }
}

/* What early.js has asked for already, once; else nothing. */
function early(path) {
    const answer = globalThis.early?.get(path);
    globalThis.early?.delete(path);
    return answer;
}

/** The JSON at a path of this server. */
export async function get(path) {
    let response;
    try {
        response = await (early(path) ?? fetch(path, { signal: AbortSignal.timeout(PATIENCE_MS) }));
    } catch {
        throw new Refusal(0, 'the server cannot be reached');
    }
    if (!response.ok) throw new Refusal(response.status, await sentenceOf(response));
    return response.json();
}

/** A page of the list: {studies, matching, total}. */
export const studies = (wish) => get(listPath(wish));
export const published = (id) => get(`/v1/studies/${id}`);
export const estimate = (id) => get(`/v1/studies/${id}/estimate`);
export const history = (id) => get(`/v1/studies/${id}/history`);
export const guarantee = (id) => get(`/v1/studies/${id}/guarantee`);
