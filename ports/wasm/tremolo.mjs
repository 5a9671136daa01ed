/* tremolo.mjs -- the device core in a browser or under Node, with its numbers checked.
 *
 * Pages and programs use device.mjs; core_device.mjs keeps a ledger around this:
 *     const core = await Tremolo.load(bytesOfTheModule, platform);
 *     const bytes = core.report(study, { number: 0, vectors: [] },
 *                               { number: 0, features: [7200, 61], response: 48 });
 *
 * A study is an object with the fields of struct tremolo_study under the same
 * names: id is 32 bytes, bounds and response_bounds are pairs [low, high],
 * response is 0 (public) or 1 (private), release 0 (a noisy sample) or 1 (a
 * ballot); a number that is missing is 0. All numbers are integers; one that
 * does not fit its type is a RangeError, because wrapping it silently could
 * spend more than was agreed. A refusal of the core is a TremoloError.
 *
 * The platform is what the header asks of it, as synchronous functions:
 *     entropy(bytes)        fill a Uint8Array
 *     read(slot)            the Uint8Array last written there, or null
 *     write(slot, bytes)    store a copy, durably
 *     counter(), advance(n) optional, together: a monotonic counter
 *     studies, macKey       a number; 16 bytes or null
 * A callback that throws refuses the release, as a failing one in C does. */

/** @typedef {[low: number, high: number]} Pair
 *  @typedef {Object} StudyParts
 *  @property {Uint8Array} id
 *  @property {number} dimension
 *  @property {number} [vectors]
 *  @property {Pair[]} bounds
 *  @property {Pair} response_bounds
 *  @typedef {StudyParts & Record<string, any>} StudyIntegers  as in struct tremolo_study
 *  @typedef {{ number: number, vectors?: number[][] }} RoundIntegers
 *  @typedef {{ number?: number, features: number[], response: number }} SampleIntegers
 *  @typedef {{ charge: number, sensitivity: number }} Cost
 *  @typedef {Object} Platform
 *  @property {(bytes: Uint8Array) => void} entropy
 *  @property {(slot: number) => Uint8Array | null} read
 *  @property {(slot: number, bytes: Uint8Array) => void} write
 *  @property {() => number} [counter]
 *  @property {(value: number) => void} [advance]
 *  @property {number} studies
 *  @property {Uint8Array | null} [macKey] */

/* Name and largest value, in the order of enum number in tremolo_wasm.c. */
/** @type {[string, number][]} */
const NUMBERS = [
    ["unit", 2 ** 32 - 1], ["clip", 2 ** 32 - 1], ["distance", 2 ** 32 - 1],
    ["amplitude", 2 ** 32 - 1], ["frequency", 2 ** 32 - 1], ["dimension", 2 ** 16 - 1],
    ["keep", 2 ** 16 - 1], ["vectors", 2 ** 16 - 1], ["rounds", 2 ** 16 - 1],
    ["samples", 2 ** 16 - 1], ["noise_log2", 255], ["wire_shift", 255], ["wire_bits", 255],
    ["response", 255], ["release", 255], ["rank_first", 255], ["rank_top", 2 ** 32 - 1],
    ["constant", 2 ** 16 - 1], ["response_weight", 2 ** 16 - 1],
];
const BUFFER = { numbers: 0, id: 1, bounds: 2, vectors: 3, features: 4 };
const NO_RESPONSE = 2 ** 31 - 1;

/** A refusal. statusName is that of tremolo_status.h, or LEDGER_LOST. */
export class TremoloError extends Error {
    /** @param {string} statusName
     *  @param {string} [detail]  a sentence, where there is more to say */
    constructor(statusName, detail = "") {
        super(detail === "" ? `tremolo: ${statusName}` : `tremolo: ${statusName}: ${detail}`);
        this.statusName = statusName;
        this.detail = detail;
    }
}

/** @param {unknown} value
 *  @param {number} low
 *  @param {number} high
 *  @param {string} name
 *  @returns {number} */
function integer(value, low, high, name) {
    if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high) {
        throw new RangeError(`tremolo: ${name} is not an integer from ${low} to ${high}`);
    }
    return value;
}

/** @template {ArrayLike<any>} T
 *  @param {T} list
 *  @param {number} length
 *  @param {string} name
 *  @returns {T} */
function sized(list, length, name) {
    if (list.length !== length) {
        throw new RangeError(`tremolo: ${name} has ${list.length} entries instead of ${length}`);
    }
    return list;
}

/** @param {unknown} value
 *  @param {string} name */
const int32 = (value, name) => integer(value, -(2 ** 31), 2 ** 31 - 1, name);
/** @param {unknown} value
 *  @param {string} name */
const int16 = (value, name) => integer(value, -(2 ** 15), 2 ** 15 - 1, name);

/* The imports of the module, for a platform and a way to reach the memory. */
/** @param {Platform} platform
 *  @param {() => ArrayBuffer} memory
 *  @returns {Record<string, (...values: number[]) => number>} */
function imports(platform, memory) {
    /** @param {(...values: number[]) => void} call */
    const guarded = (call) => (/** @type {number[]} */ ...values) => {
        try {
            call(...values);
            return 0;
        } catch {
            return 1;
        }
    };
    /** @param {number} address
     *  @param {number} length */
    const at = (address, length) => new Uint8Array(memory(), address, length);
    return {
        /* Through an array of its own, so that the platform never holds a
         * view of the module's memory. */
        entropy: guarded((address, length) => {
            const bytes = new Uint8Array(length);
            platform.entropy(bytes);
            at(address, length).set(bytes);
            bytes.fill(0);
        }),
        read: guarded((slot, address, length) => {
            const stored = platform.read(slot) ?? new Uint8Array(0);
            at(address, length).fill(0).set(stored.subarray(0, length));
        }),
        write: guarded((slot, address, length) => {
            platform.write(slot, at(address, length).slice());
        }),
        counter: guarded((address) => {
            const value = integer(platform.counter?.(), 0, 2 ** 32 - 1, "the counter");
            new Uint32Array(memory(), address, 1)[0] = value;
        }),
        advance: guarded((value) => platform.advance?.(value >>> 0)),
    };
}

export class Tremolo {
    /** @type {any} */
    #core;

    /** @param {BufferSource} source  tremolo.wasm
     *  @param {Platform} platform */
    static async load(source, platform) {
        /** @type {any} */
        let core;
        const tremolo = imports(platform, () => core.memory.buffer);
        core = (await WebAssembly.instantiate(source, { tremolo })).instance.exports;
        const device = new Tremolo();
        device.#core = core;
        const key = platform.macKey ?? null;
        if (key !== null) {
            device.#bytes(core.mac_key_bytes(), 16).set(sized(key, 16, "macKey"));
        }
        const counts = Boolean(platform.counter && platform.advance);
        core.set_platform(integer(platform.studies, 1, 16, "studies"), counts, key !== null);
        return device;
    }

    /* Make the ledger, once, with a budget of mu^2 for noisy samples and one of
     * epsilon for ballots, both in 2^-24. */
    /** @param {number} budget
     *  @param {number} [epsilon] */
    enrol(budget, epsilon = 0) {
        this.#must(this.#core.enrol(integer(budget, 0, 2 ** 32 - 1, "budget"),
            integer(epsilon, 0, 2 ** 31 - 1, "epsilon")));
    }

    /* What is left of the budget. */
    /** @returns {number} */
    budget() {
        this.#must(this.#core.budget());
        return this.#core.last_answer() >>> 0;
    }

    /* What is left of the budget of epsilon. */
    /** @returns {number} */
    epsilon() {
        this.#must(this.#core.epsilon());
        return this.#core.last_answer() >>> 0;
    }

    /* The budget, or null for a device that has no ledger yet. */
    budgetOrNull() {
        try {
            return this.budget();
        } catch (error) {
            if (error instanceof TremoloError && error.statusName === "LEDGER_MISSING") return null;
            throw error;
        }
    }

    /* What one release of the study costs, and its sensitivity. */
    /** @param {StudyIntegers} study
     *  @returns {Cost} */
    cost(study) {
        this.#setStudy(study);
        return {
            charge: this.#core.study_charge() >>> 0,
            sensitivity: this.#core.study_sensitivity() >>> 0,
        };
    }

    /* The report's bytes, made or repeated. */
    /** @param {StudyIntegers} study
     *  @param {RoundIntegers} round
     *  @param {SampleIntegers} sample
     *  @returns {Uint8Array} */
    report(study, round, sample) {
        const number = integer(round.number, 0, 2 ** 16 - 1, "round.number");
        const which = integer(sample.number ?? 0, 0, 2 ** 16 - 1, "sample.number");
        const response = int32(sample.response, "sample.response");
        this.#setStudy(study);
        this.#setVectors(study, round.vectors ?? []);
        const features = this.#values(Int32Array, BUFFER.features, study.dimension);
        try {
            sized(sample.features, study.dimension, "features");
            sample.features.forEach((value, i) => (features[i] = int32(value, "a feature")));
            this.#must(this.#core.make_report(number, which, response));
            return this.#bytes(this.#core.report_bytes(), this.#core.last_answer()).slice();
        } finally {
            features.fill(0);
        }
    }

    /* Read a report back: round, response (or null) and wire coordinates, or
     * what a ballot's answer says. */
    /** @param {StudyIntegers} study
     *  @param {Uint8Array} bytes
     *  @returns {{ round: number, response: number | null, coordinates: number[] }} */
    decode(study, bytes) {
        const capacity = this.#core.report_capacity();
        this.#setStudy(study);
        this.#bytes(this.#core.report_bytes(), capacity).set(bytes.subarray(0, capacity));
        this.#must(this.#core.decode(bytes.length));
        const count = this.#core.last_answer();
        const start = this.#core.coordinate_values();
        const response = this.#core.decoded_response();
        return {
            round: this.#core.decoded_round(),
            response: response === NO_RESPONSE ? null : response,
            coordinates: Array.from(new Int16Array(this.#core.memory.buffer, start, count)),
        };
    }

    /* Throws unless the report decoded last carries the platform's MAC. */
    verify() {
        this.#must(this.#core.verify());
    }

    /** @param {number} address
     *  @param {number} length */
    #bytes(address, length) {
        return new Uint8Array(this.#core.memory.buffer, address, length);
    }

    /** @template T
     *  @param {new (buffer: ArrayBuffer, start: number, length: number) => T} kind
     *  @param {number} buffer
     *  @param {number} length */
    #values(kind, buffer, length) {
        return new kind(this.#core.memory.buffer, this.#core.buffer(buffer), length);
    }

    /** @param {number} status */
    #must(status) {
        if (status !== 0) {
            const start = this.#core.status_name(status);
            const bytes = this.#bytes(start, 32);
            const name = String.fromCharCode(...bytes.subarray(0, bytes.indexOf(0)));
            throw new TremoloError(name);
        }
    }

    /** @param {StudyIntegers} study */
    #setStudy(study) {
        const d = integer(study.dimension, 1, this.#core.max_dimension(), "dimension");
        const numbers = this.#values(Uint32Array, BUFFER.numbers, NUMBERS.length);
        NUMBERS.forEach(([name, most], i) => (numbers[i] = integer(study[name] ?? 0, 0, most, name)));
        this.#values(Uint8Array, BUFFER.id, 32).set(sized(study.id, 32, "id"));
        const bounds = this.#values(Int32Array, BUFFER.bounds, 2 * (d + 1));
        const pairs = [...sized(study.bounds, d, "bounds"), study.response_bounds];
        pairs.flatMap((pair) => [...sized(pair, 2, "a pair of bounds")])
            .forEach((value, i) => (bounds[i] = int32(value, "a bound")));
        this.#must(this.#core.set_study());
    }

    /** @param {StudyIntegers} study
     *  @param {number[][]} rows */
    #setVectors(study, rows) {
        const count = study.vectors ?? 0;
        sized(rows, count, "vectors");
        rows.forEach((row) => sized(row, study.dimension, "a vector"));
        const entries = this.#values(Int16Array, BUFFER.vectors, count * study.dimension);
        rows.flatMap((row) => [...row]).forEach((v, i) => (entries[i] = int16(v, "an entry")));
    }
}
