/* check.mjs -- the checks that run both under Node and in a browser. */
import { CoreDevice } from "./core_device.mjs";
import { Tremolo } from "./tremolo.mjs";

const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/* Bytes of the report, or the name of the status that refused it; of a promise, too. */
function attempt(call) {
    try {
        return call();
    } catch (error) {
        if (!error.statusName) throw error;
        return error.statusName;
    }
}

const settled = (promise) => promise.catch((error) => {
    if (!error.statusName) throw error;
    return error.statusName;
});

function memoryPlatform(macKey) {
    const slots = new Map();
    let count = 0;
    return {
        studies: 2,
        macKey,
        seed: null,
        entropy(bytes) { bytes.set(this.seed); },
        read: (slot) => slots.get(slot) ?? null,
        write: (slot, bytes) => slots.set(slot, bytes),
        counter: () => count,
        advance: (value) => { count = value; },
    };
}

const studyOf = (plain) => ({ ...plain, id: unhex(plain.id), response: plain.private,
    release: plain.ballot });

/* What differs in one request, as a list of words. */
function requestDifferences(device, platform, wanted, request) {
    const study = studyOf(wanted.study);
    platform.seed = unhex(request.entropy);
    const round = { number: request.round, vectors: wanted.vectors };
    const sample = { number: request.sample, features: request.features, response: request.response };
    const bytes = attempt(() => device.report(study, round, sample));
    const found = [];
    const left = wanted.study.ballot ? device.epsilon() : device.budget();
    if (left !== request.left) found.push("what is left");
    if (typeof bytes === "string") {
        if (bytes !== request.status) found.push("the status");
        return found;
    }
    if (request.status !== "OK" || hex(bytes) !== request.report) return [...found, "the report"];
    const decoded = device.decode(study, bytes);
    if (!same(decoded.coordinates, request.wire) || decoded.round !== request.round) {
        found.push("the decoded");
    }
    if (wanted.mac_key) device.verify();
    return found;
}

async function checkCase(wasm, wanted, note) {
    const platform = memoryPlatform(wanted.mac_key ? unhex(wanted.mac_key) : null);
    const device = await Tremolo.load(wasm, platform);
    const cost = device.cost(studyOf(wanted.study));
    if (cost.charge !== wanted.charge || cost.sensitivity !== wanted.sensitivity) {
        note(`${wanted.name}: the cost differs`);
    }
    platform.seed = unhex(wanted.entropy);
    if (wanted.study.ballot) device.enrol(0, wanted.budget);
    else device.enrol(wanted.budget);
    for (const request of wanted.requests) {
        for (const what of requestDifferences(device, platform, wanted, request)) {
            note(`${wanted.name}: ${what} differs`);
        }
    }
}

const studyNamed = (vectors, name) => studyOf(vectors.cases.find((c) => c.name === name).study);
const ONE_STUDY = "d=10 m=0 public y";

/* A sample at the edge of its bounds. */
const edge = (study) => ({ number: 0, features: study.bounds.map((pair) => pair[0]), response: study.response_bounds[1] });

/* A release with the platform's own randomness: it decodes, comes back the
 * same, survives a reload and differs on another device. */
async function checkRandom(wasm, vectors, open, note) {
    const study = studyNamed(vectors, ONE_STUDY);
    const round = { number: 0 };
    const device = new CoreDevice(wasm, open("first"));
    if (await device.left() !== null) note("a new device has a ledger");
    if (await settled(device.report(study, round, edge(study))) !== "LEDGER_MISSING") note("a report without enrolment");
    const { charge } = await device.cost(study);
    await device.enrol(charge, 0);
    if (await settled(device.enrol(charge, 0)) !== "LEDGER_EXISTS") note("a device was enrolled twice");
    const made = await Promise.all([0, 1, 2].map(() => device.report(study, round, edge(study))));
    const bytes = made[0];
    if (made.some((other) => hex(other) !== hex(bytes))) note("calls at the same time made two reports");
    const decoded = await device.decode(study, bytes);
    if (decoded.coordinates.length !== 10 || decoded.response !== 32767) note("decoding differs");
    const reopened = new CoreDevice(wasm, open("first"));
    if (hex(await reopened.stored(study, round)) !== hex(bytes)) note("the repeated report differs");
    if ((await reopened.left()).budget !== 0) note("the charge was lost");
    const other = new CoreDevice(wasm, open("second"));
    await other.enrol(2 ** 32 - 1, 0);
    if (await other.stored(study, round) !== null) note("a stored report of another device");
    const refused = new Error("not allowed");
    const asked = await other.report(study, round, edge(study), () => { throw refused; }).catch((error) => error);
    if (asked !== refused || (await other.left()).budget !== 2 ** 32 - 1) note("a refusal was charged");
    if (hex(await other.report(study, round, edge(study))) === hex(bytes)) note("two devices made the same report");
}

/* A store that tells what was called, in order; commits of nothing left out. */
const watched = (store, calls) => ({
    exclusively: (work) => store.exclusively((session) => work(new Proxy(session, {
        get: (_, name) => (...given) => {
            if (name !== "commit" || given[0].length > 0) calls.push(name);
            return session[name](...given);
        },
    }))),
});

/* Storage is asked to last before anything is in it, and the note is made after the ledger. A
 * note that was lost is made again before anything else. */
async function checkEnrolment(wasm, open, note) {
    const calls = [];
    const device = new CoreDevice(wasm, watched(open("fourth"), calls));
    await device.enrol(1, 1);
    if (calls.join() !== "slots,wasEnrolled,persist,commit,markEnrolled") note(`enrolled by ${calls}`);
    const forgetful = { get: (session, name) => (name === "wasEnrolled" ? async () => false : session[name].bind(session)) };
    const store = { exclusively: (work) => open("fourth").exclusively((session) => work(new Proxy(session, forgetful))) };
    calls.length = 0;
    await new CoreDevice(wasm, watched(store, calls)).left();
    if (calls.join() !== "slots,wasEnrolled,markEnrolled") note(`a lost note led to ${calls}`);
}

/* What a store that loses or damages something leads to. */
async function checkLosses(wasm, vectors, open, note) {
    const study = studyNamed(vectors, ONE_STUDY);
    const round = { number: 0 };
    const store = open("third");
    const device = new CoreDevice(wasm, store);
    const slotsNow = () => store.exclusively((session) => session.slots());
    await device.enrol(2 ** 32 - 1, 2 ** 31 - 1);
    const bytes = await device.report(study, round, edge(study));
    const whole = await slotsNow();
    /* Either slot of the entry, damaged: a repeat mends it in the store, not only in memory. */
    for (const slot of [0, 1]) {
        const damaged = whole.get(slot).slice();
        damaged[40] ^= 1;
        await store.exclusively((session) => session.commit([{ slot, bytes: damaged }]));
        if (hex(await device.stored(study, round)) !== hex(bytes)) note("a damaged slot changed the report");
        if (hex((await slotsNow()).get(slot)) !== hex(whole.get(slot))) note("a repair was not stored");
    }
    /* Nothing is left but the note that the device was enrolled. */
    const empty = [...whole.keys()].map((slot) => ({ slot, bytes: new Uint8Array(0) }));
    await store.exclusively((session) => session.commit(empty));
    for (const attempted of [() => device.left(), () => device.enrol(1, 1), () => device.stored(study, round),
        () => device.report(study, round, edge(study))]) {
        if (await settled(attempted()) !== "LEDGER_LOST") note("a lost ledger was forgiven");
    }
}

/* Lines to print; the last one is what tools/test-ports reads. open(name) gives the store of that
 * name, the same one each time. */
export async function check(wasm, vectors, open) {
    const differences = [];
    const note = (text) => differences.push(`# ${text}`);
    let checked = 0;
    for (const wanted of vectors.cases) {
        await checkCase(wasm, wanted, note);
        checked += wanted.requests.length;
    }
    const about = vectors.cases.find((c) => c.name === vectors.refused_for);
    const device = await Tremolo.load(wasm, memoryPlatform(null));
    for (const refused of vectors.refused) {
        const status = attempt(() => device.decode(studyOf(about.study), unhex(refused.bytes)));
        if ((typeof status === "string" ? status : "OK") !== refused.status) note(`${refused.name}: the refusal differs`);
        checked++;
    }
    await checkRandom(wasm, vectors, open, note);
    await checkEnrolment(wasm, open, note);
    await checkLosses(wasm, vectors, open, note);
    return [...differences, "also reports with crypto.getRandomValues",
        `${checked} vectors, ${differences.length} differences`].join("\n");
}
