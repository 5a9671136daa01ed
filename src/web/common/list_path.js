/* list_path.js -- where a page of the list is asked for; early.js asks for the first one. */
export const PAGE = 25; /* rows; what a phone draws without a pause */

/** The address of a page; the wish by the names of docs/openapi.json. */
export const listPath = (wish) => `/v1/studies?${new URLSearchParams(wish)}`;

export const FIRST_PAGE = listPath({ search: '', sort: 'created', order: 'up', offset: 0, limit: PAGE });
