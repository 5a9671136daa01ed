/* store_file.mjs -- a ledger in a directory, for Node and what has its file system.
 *
 * Every slot is a file. A write goes to a second file, is synced, takes the slot's place by a
 * rename, and the directory is synced: after a power cut there is the old slot or the new one.
 *
 * One process at a time works on the directory. The lock is a file that names its holder, made by a
 * link, which is there whole or not at all. A holder that died is found by its number; only
 * who has made `lock.stealing` may remove its lock, after reading it once more, so that no two
 * ever take the same one away. A lock of another machine, or of a process that lives, is waited
 * for and then LEDGER_BUSY. */
import { webcrypto } from "node:crypto";
import { link, mkdir, open, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { TremoloError } from "./tremolo.mjs";

globalThis.crypto ??= /** @type {Crypto} */ (webcrypto); /* Node 18 knows it under another name */

const WAIT_MS = 50;
const PATIENCE_MS = 20000;
const MARK = "enrolled";

/** @typedef {import("./core_device.mjs").Write} Write */

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });

/** @param {string} code
 *  @returns {(error: any) => null} */
const unless = (code) => (error) => {
    if (error.code !== code) throw error;
    return null;
};

/** @param {string} path */
async function sync(path) {
    const handle = await open(path, "r");
    try {
        await handle.sync();
    } finally {
        await handle.close();
    }
}

/* Durable, or not there. */
/** @param {string} folder
 *  @param {string} name
 *  @param {Uint8Array} bytes */
async function replace(folder, name, bytes) {
    const fresh = join(folder, `${name}.new`);
    await writeFile(fresh, bytes, { mode: 0o600 });
    await sync(fresh);
    await rename(fresh, join(folder, name));
    await sync(folder);
}

/* The folder, and where it is new the entries that lead to it: a power cut must not take a
 * ledger together with its folder. Who may not read a folder may not sync it either. */
/** @param {string} folder */
async function makeFolder(folder) {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let at = folder; at.length >= first.length; at = dirname(at)) await sync(dirname(at)).catch(unless("EACCES"));
}

/* ------------------------------------------------------------------ the lock */

/* Is the process that wrote this certainly gone? */
/** @param {string} holder */
function isGone(holder) {
    const [host, number] = holder.split(" ");
    if (host !== hostname() || !Number.isInteger(Number(number))) return false;
    try {
        process.kill(Number(number), 0);
        return false;
    } catch (error) {
        return /** @type {any} */ (error).code === "ESRCH";
    }
}

/** @param {string} lock */
async function removeIfGone(lock) {
    const read = () => readFile(lock, "utf8").catch(unless("ENOENT"));
    const holder = await read();
    if (holder === null || !isGone(holder)) return;
    const stealing = await open(`${lock}.stealing`, "wx").catch(unless("EEXIST"));
    if (stealing === null) return;
    try {
        if (await read() === holder) await rm(lock);
    } finally {
        await stealing.close();
        await rm(`${lock}.stealing`);
    }
}

let locksTaken = 0;

/** @param {string} folder */
async function takeLock(folder) {
    const lock = join(folder, "lock");
    const own = `${lock}.${process.pid}.${locksTaken++}`;
    const deadline = Date.now() + PATIENCE_MS;
    await writeFile(own, `${hostname()} ${process.pid}`, { mode: 0o600 });
    try {
        for (;;) {
            if (await link(own, lock).then(() => true, unless("EEXIST"))) return lock;
            await removeIfGone(lock);
            if (Date.now() > deadline) throw new TremoloError("LEDGER_BUSY", `another process has ${lock}`);
            await pause(WAIT_MS * (0.5 + Math.random()));
        }
    } finally {
        await rm(own);
    }
}

/* ------------------------------------------------------------------ the store */

class Session {
    #folder;

    /** @param {string} folder */
    constructor(folder) {
        this.#folder = folder;
    }

    async slots() {
        const names = (await readdir(this.#folder)).filter((name) => /^slot-[0-9]+$/.test(name));
        const bytes = await Promise.all(names.map((name) => readFile(join(this.#folder, name))));
        return new Map(names.map((name, i) => [Number(name.slice(5)), new Uint8Array(bytes[i])]));
    }

    /** @param {Write[]} writes */
    async commit(writes) {
        for (const { slot, bytes } of writes) await replace(this.#folder, `slot-${slot}`, bytes);
    }

    async persist() {}

    async wasEnrolled() {
        return await readFile(join(this.#folder, MARK)).catch(unless("ENOENT")) !== null;
    }

    async markEnrolled() {
        await replace(this.#folder, MARK, new Uint8Array(0));
    }
}

export class FileStore {
    /** @param {string} folder  made if it is not there; never copy it, and never set it back */
    constructor(folder) {
        this.folder = resolve(folder);
    }

    /** @template T
     *  @param {(session: import("./core_device.mjs").StoreSession) => Promise<T>} work
     *  @returns {Promise<T>} */
    async exclusively(work) {
        await makeFolder(this.folder);
        const lock = await takeLock(this.folder);
        try {
            return await work(new Session(this.folder));
        } finally {
            await rm(lock);
        }
    }
}
