/* store_indexeddb.mjs -- a ledger kept by a browser, for core_device.mjs.
 *
 * Slots are in IndexedDB, each stored in a strict transaction of its own. One tab at a time
 * works on them, under a Web Lock; the others wait, and then see what it did. Storage is asked
 * to be persistent before the ledger is made: a browser that is short of space then leaves
 * it alone, if it grants that.
 *
 * That there is a ledger is noted in localStorage as well, so that losing the database alone
 * is noticed. Browsers write localStorage when they please: a note that a power cut took is
 * made again by the next visit, and a database lost in between goes unnoticed. A visitor who clears all of the site's data makes a new device: no page can tell.
 *
 * The server's answers are kept with the slots: for each study the newest
 * round's report that it took. A visitor who comes back then sends nothing. */
const VERSION = 2; /* 2: with answers */
const PERSIST_MS = 3000; /* that a browser has to say whether storage will last */

/** @typedef {import("./core_device.mjs").Write} Write
 *  @typedef {{ round: number, bytes: Uint8Array }} Answer  the report of a study that the server took last */

/** @template T
 *  @param {IDBRequest<T> & { onblocked?: unknown }} request
 *  @returns {Promise<T>} */
const finished = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another version of this page is open"));
});

/** @param {IDBTransaction} transaction
 *  @returns {Promise<void>} */
const committed = (transaction) => new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the browser did not store it"));
});

/** @param {string} name
 *  @returns {Promise<IDBDatabase>} */
function openDatabase(name) {
    const request = globalThis.indexedDB.open(name, VERSION);
    request.onupgradeneeded = ({ oldVersion }) => {
        if (oldVersion < 1) request.result.createObjectStore("slots");
        if (oldVersion < 2) request.result.createObjectStore("answers");
    };
    return finished(request);
}

/* What may be done while the lock is held. */
class Session {
    #database;
    #mark;

    /** @param {IDBDatabase} database
     *  @param {string} mark */
    constructor(database, mark) {
        this.#database = database;
        this.#mark = mark;
    }

    /** @returns {Promise<Map<number, Uint8Array>>} */
    async slots() {
        const store = this.#database.transaction("slots").objectStore("slots");
        const [keys, values] = await Promise.all([finished(store.getAllKeys()), finished(store.getAll())]);
        return new Map(keys.map((key, i) => [Number(key), values[i]]));
    }

    /** @param {Write[]} writes */
    async commit(writes) {
        for (const { slot, bytes } of writes) {
            const transaction = this.#database.transaction("slots", "readwrite", { durability: "strict" });
            transaction.objectStore("slots").put(bytes, slot);
            await committed(transaction);
        }
    }

    /* Firefox asks the person, who may never answer: the question stays, the device goes on. */
    async persist() {
        const asked = globalThis.navigator.storage?.persist?.() ?? Promise.resolve(false);
        await Promise.race([asked.catch(() => false), new Promise((resolve) => { setTimeout(resolve, PERSIST_MS); })]);
    }

    async wasEnrolled() {
        return globalThis.localStorage.getItem(this.#mark) !== null;
    }

    async markEnrolled() {
        globalThis.localStorage.setItem(this.#mark, "yes");
    }

    /** @param {string} study
     *  @returns {Promise<Answer | undefined>} */
    answer(study) {
        return finished(this.#database.transaction("answers").objectStore("answers").get(study));
    }

    /** @param {string} study
     *  @param {Answer} answer */
    async noteAnswer(study, answer) {
        const transaction = this.#database.transaction("answers", "readwrite");
        transaction.objectStore("answers").put(answer, study);
        await committed(transaction);
    }
}

export class IndexedDbStore {
    /** @param {string} name  of database and lock; the note is at `${name}-enrolled` in localStorage */
    constructor(name) {
        this.name = name;
    }

    /** Has this browser what the store needs? */
    static isPossible() {
        return Boolean(globalThis.navigator?.locks && globalThis.indexedDB && globalThis.localStorage);
    }

    /** @template T
     *  @param {(session: Session) => Promise<T>} work
     *  @returns {Promise<T>} */
    exclusively(work) {
        return globalThis.navigator.locks.request(this.name, async () => {
            const database = await openDatabase(this.name);
            try {
                return await work(new Session(database, `${this.name}-enrolled`));
            } finally {
                database.close();
            }
        });
    }
}
