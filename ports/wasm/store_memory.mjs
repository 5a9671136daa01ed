/* store_memory.mjs -- a ledger that is thrown away, for examples and tests. A device that
 * keeps its ledger here has a new budget each time: never for a report that is sent. */
export class MemoryStore {
    /** @type {Map<number, Uint8Array>} */
    slots = new Map();
    enrolled = false;
    /** @type {Promise<unknown>} */
    #last = Promise.resolve();

    /** @template T
     *  @param {(session: import("./core_device.mjs").StoreSession) => Promise<T>} work
     *  @returns {Promise<T>} */
    exclusively(work) {
        const turn = this.#last.then(() => work({
            slots: async () => new Map(this.slots),
            commit: async (writes) => writes.forEach(({ slot, bytes }) => this.slots.set(slot, bytes)),
            persist: async () => {},
            wasEnrolled: async () => this.enrolled,
            markEnrolled: async () => { this.enrolled = true; },
        }));
        this.#last = turn.catch(() => {});
        return turn;
    }
}
