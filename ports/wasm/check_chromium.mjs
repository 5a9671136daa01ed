/* check_chromium.mjs DIR -- the same checks in a browser without a window.
 *
 * A server on the loopback interface hands out the page, the module and the
 * vectors and waits for the page to post what it found. The browser gets a
 * fresh profile and is ended by its handle. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE_MS = 90000;
const dir = process.argv[2];
const page = `<!doctype html><title>tremolo</title><script type="module">
const post = (text) => fetch("/result", { method: "POST", body: text });
try {
    const { check } = await import("/check.mjs");
    const { IndexedDbStore } = await import("/store_indexeddb.mjs");
    const wasm = await (await fetch("/tremolo.wasm")).arrayBuffer();
    const vectors = await (await fetch("/device.json")).json();
    await post(await check(wasm, vectors, (name) => new IndexedDbStore(name)));
} catch (error) {
    await post("# " + error + " " + error.stack);
}
</script>`;
const files = {
    ...Object.fromEntries(["tremolo", "core_device", "store_indexeddb", "check"].map(
        (name) => [`/${name}.mjs`, [`ports/wasm/${name}.mjs`, "text/javascript"]])),
    "/device.json": ["tests/vectors/device.json", "application/json"],
    "/tremolo.wasm": [join(dir, "tremolo.wasm"), "application/wasm"],
};

async function answer(request, response, finish) {
    if (request.method === "POST") {
        const parts = [];
        for await (const part of request) parts.push(part);
        response.end();
        finish(Buffer.concat(parts).toString());
    } else if (request.url === "/") {
        response.setHeader("content-type", "text/html").end(page);
    } else if (files[request.url]) {
        const [path, type] = files[request.url];
        response.setHeader("content-type", type).end(await readFile(path));
    } else {
        response.writeHead(404).end();
    }
}

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage"];

function browse(address, profile) {
    return spawn("chromium", [...flags, `--user-data-dir=${profile}`, address],
        { stdio: ["ignore", "ignore", "inherit"] });
}

const profile = await mkdtemp(join(tmpdir(), "tremolo-chromium-"));
const server = createServer();
let browser;
try {
    const result = await new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error("the page posted nothing")), PATIENCE_MS).unref();
        server.on("request", (request, response) => answer(request, response, resolve).catch(reject));
        server.listen(0, "127.0.0.1", () => {
            browser = browse(`http://127.0.0.1:${server.address().port}/`, profile);
            browser.on("error", reject);
        });
    });
    console.log(result);
} finally {
    server.close();
    server.closeAllConnections();
    if (browser?.pid && browser.exitCode === null) {
        const gone = new Promise((resolve) => browser.once("exit", resolve));
        browser.kill();
        await gone;
    }
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
