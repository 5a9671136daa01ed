/* index.mjs -- what the package shows. README.md begins with how it is used. */
export { Device } from "./device.mjs";
export { Policy } from "./policy.mjs";
export { Study, coordinates, isBallot, releases } from "./study.mjs";
export { upload } from "./upload.mjs";
export { IndexedDbStore } from "./store_indexeddb.mjs";
export { MemoryStore } from "./store_memory.mjs";
export { TremoloError } from "./tremolo.mjs";
