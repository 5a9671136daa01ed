/* store_memory.mjs -- a ledger that is thrown away, for examples and tests. A device that
 * keeps its ledger here has a new budget each time: never for a report that is sent. */
export class MemoryStore {
    slots = new Map();
    enrolled = false;
    #last = Promise.resolve();

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
