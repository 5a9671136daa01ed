/* check_node.mjs DIR -- check DIR/tremolo.wasm against the vectors in Node. */
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import { check } from "./check.mjs";

globalThis.crypto ??= webcrypto;

const items = new Map();
const storage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
};
const wasm = await readFile(`${process.argv[2]}/tremolo.wasm`);
const vectors = JSON.parse(await readFile("tests/vectors/device.json", "utf8"));
console.log(await check(wasm, vectors, storage));
