/* check.mjs -- the checks that run both under Node and in a browser. */
import { Tremolo, browserPlatform } from "./tremolo.mjs";

const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/* Bytes of the report, or the name of the status that refused it. */
function attempt(call) {
    try {
        return call();
    } catch (error) {
        if (!error.statusName) throw error;
        return error.statusName;
    }
}

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
    if (wanted.study.ballot) device.enrol(0, wanted.budget);
    else device.enrol(wanted.budget);
    for (const request of wanted.requests) {
        for (const what of requestDifferences(device, platform, wanted, request)) {
            note(`${wanted.name}: ${what} differs`);
        }
    }
}

/* A release with the platform's own randomness: it decodes, comes back the
 * same, survives a reload and differs on another device. */
async function checkRandom(wasm, vectors, storage, note) {
    const study = studyOf(vectors.cases.find((c) => c.name === "d=10 m=0 public y").study);
    const ask = (device) => device.report(study, { number: 0 },
        { features: study.bounds.map((pair) => pair[0]), response: study.response_bounds[1] });
    const open = (name) => Tremolo.load(wasm, browserPlatform(name, storage));
    const device = await open("first");
    if (device.budgetOrNull() !== null) note("a new device has a ledger");
    device.enrol(device.cost(study).charge);
    const bytes = ask(device);
    const decoded = device.decode(study, bytes);
    if (decoded.coordinates.length !== 10 || decoded.response !== 32767) note("decoding differs");
    const reopened = await open("first");
    if (hex(ask(reopened)) !== hex(bytes)) note("the repeated report differs");
    if (reopened.budget() !== 0) note("the charge was lost");
    const other = await open("second");
    other.enrol(2 ** 32 - 1);
    if (hex(ask(other)) === hex(bytes)) note("two devices made the same report");
    const failing = await Tremolo.load(wasm, { ...browserPlatform("third", storage),
        entropy: () => { throw new Error("no entropy"); } });
    failing.enrol(2 ** 32 - 1);
    if (attempt(() => ask(failing)) !== "NO_ENTROPY") note("failing entropy was not refused");
}

/* Lines to print; the last one is what tools/test-ports reads. */
export async function check(wasm, vectors, storage) {
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
    await checkRandom(wasm, vectors, storage, note);
    return [...differences, "also reports with crypto.getRandomValues",
        `${checked} vectors, ${differences.length} differences`].join("\n");
}
