/* ledger_store.js -- the browser device's ledger, kept by the browser.
 *
 * The device core writes its slots synchronously, and a browser stores
 * durably only asynchronously. So the core works on a copy in memory, and the
 * slots it wrote are then stored in its order, each in a strict transaction
 * of its own: slot A, then slot B. Only when both are through may a byte of
 * the report leave (docs/protocol.md, section 6).
 *
 * Beside the slots is what the server has answered: for each study the newest
 * round's report that it took. Whoever comes back then sends nothing.
 *
 * The ledger is in IndexedDB. That there is one is noted in localStorage as
 * well: where the note is and the ledger is not, the ledger was lost, and a
 * lost ledger is no new one. */
const DATABASE = 'tremolo-device';
const VERSION = 2; /* 2: with answers */
const MARK = 'tremolo-device-enrolled';

const finished = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error('another version of this page is open'));
});

const committed = (transaction) => new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('the browser did not store it'));
});

export class LedgerStore {
    #database;

    static async open() {
        const request = indexedDB.open(DATABASE, VERSION);
        request.onupgradeneeded = ({ oldVersion }) => {
            if (oldVersion < 1) request.result.createObjectStore('slots');
            if (oldVersion < 2) request.result.createObjectStore('answers');
        };
        const store = new LedgerStore();
        store.#database = await finished(request);
        return store;
    }

    close() {
        this.#database.close();
    }

    /* Was there a ledger here, whatever is left of it? */
    static wasEnrolled() {
        return localStorage.getItem(MARK) !== null;
    }

    static markEnrolled() {
        localStorage.setItem(MARK, 'yes');
    }

    /** Every slot there is, by number. */
    async slots() {
        const store = this.#database.transaction('slots').objectStore('slots');
        const [keys, values] = await Promise.all([finished(store.getAllKeys()), finished(store.getAll())]);
        return new Map(keys.map((key, i) => [key, values[i]]));
    }

    /** Store slots in the order in which the core wrote them. */
    async commit(writes) {
        for (const { slot, bytes } of writes) {
            const transaction = this.#database.transaction('slots', 'readwrite', { durability: 'strict' });
            transaction.objectStore('slots').put(bytes, slot);
            await committed(transaction);
        }
    }

    /** The {round, bytes} of a study that the server took last, or undefined. */
    answer(study) {
        return finished(this.#database.transaction('answers').objectStore('answers').get(study));
    }

    async noteAnswer(study, answer) {
        const transaction = this.#database.transaction('answers', 'readwrite');
        transaction.objectStore('answers').put(answer, study);
        await committed(transaction);
    }
}
