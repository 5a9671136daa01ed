/* check_node.mjs DIR -- check DIR/tremolo.wasm against the vectors in Node. */
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import { check } from "./check.mjs";
import { MemoryStore } from "./store_memory.mjs";

globalThis.crypto ??= webcrypto;

const stores = new Map();
const open = (name) => stores.get(name) ?? stores.set(name, new MemoryStore()).get(name);
const wasm = await readFile(`${process.argv[2]}/tremolo.wasm`);
const vectors = JSON.parse(await readFile("tests/vectors/device.json", "utf8"));
console.log(await check(wasm, vectors, open));
