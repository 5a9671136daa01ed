/* marionette.mjs -- a real Firefox, driven over its own wire protocol.
 *
 * Firefox takes WebDriver commands on a loopback socket when it is started with --marionette: messages are
 * JSON arrays with their length before them. That needs no driver program and no package. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE_MS = 30000;
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/* Nothing is asked of the world, and the port is the browser's choice. */
const PREFERENCES = {
    'marionette.port': 0,
    'app.update.enabled': false,
    'app.normandy.enabled': false,
    'browser.shell.checkDefaultBrowser': false,
    'browser.startup.homepage_override.mstone': 'ignore',
    'datareporting.policy.dataSubmissionEnabled': false,
    'datareporting.policy.firstRunURL': '',
    'extensions.update.enabled': false,
    'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false,
    'services.settings.server': 'data:,',
    'toolkit.telemetry.enabled': false,
    'dom.push.connection.enabled': false,
};

async function until(what, words) {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(100)) {
        const found = await what();
        if (found) return found;
    }
    throw new Error(`${words} did not come`);
}

/* Commands one after the other; each answer is [1, id, error, result]. */
function connection(port) {
    const socket = createConnection({ host: '127.0.0.1', port });
    const waiting = new Map();
    let bytes = Buffer.alloc(0);
    let last = 0;
    let greeted;
    const greeting = new Promise((resolve, reject) => { greeted = resolve; socket.on('error', reject); });
    function take() {
        const colon = bytes.indexOf(58);
        if (colon < 0) return null;
        const length = Number(bytes.subarray(0, colon).toString());
        if (bytes.length < colon + 1 + length) return null;
        const message = JSON.parse(bytes.subarray(colon + 1, colon + 1 + length).toString());
        bytes = bytes.subarray(colon + 1 + length);
        return message;
    }
    socket.on('data', (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        for (let message = take(); message !== null; message = take()) {
            if (!Array.isArray(message)) greeted();
            else {
                const [, id, error, result] = message;
                const { resolve, reject } = waiting.get(id);
                waiting.delete(id);
                if (error) reject(new Error(`${error.error}: ${error.message}`));
                else resolve(result);
            }
        }
    });
    return {
        greeting,
        end: () => socket.destroy(),
        ask(command, parameters = {}) {
            const id = ++last;
            const text = JSON.stringify([0, id, command, parameters]);
            socket.write(`${Buffer.byteLength(text)}:${text}`);
            return new Promise((resolve, reject) => { waiting.set(id, { resolve, reject }); });
        },
    };
}

/** A Firefox on a fresh profile. */
export async function openFirefox() {
    const profile = mkdtempSync(join(tmpdir(), 'tremolo-firefox-'));
    writeFileSync(join(profile, 'user.js'), Object.entries(PREFERENCES)
        .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(''));
    const program = spawn('firefox-esr', ['--headless', '--marionette', '--no-remote', '--profile', profile], { stdio: 'ignore', env: { ...process.env, HOME: profile } });
    const portFile = join(profile, 'MarionetteActivePort');
    const port = await until(() => existsSync(portFile) && Number(readFileSync(portFile, 'utf8')), 'Firefox’s port');
    const line = connection(port);
    await line.greeting;
    await line.ask('WebDriver:NewSession', { pageLoadStrategy: 'normal' });
    const run = async (body, ...args) => (await line.ask('WebDriver:ExecuteScript', { script: body, args })).value;
    return {
        goto: (url) => line.ask('WebDriver:Navigate', { url }),
        resize: (width, height) => line.ask('WebDriver:SetWindowRect', { width, height }),
        /** The value of a function's body in the page. */
        run,
        /** Until such a body gives something true. */
        until: (body, words) => until(() => run(body), words),
        /** Keys one after the other, as a person presses them. */
        press: (...keys) => line.ask('WebDriver:PerformActions', { actions: [{ type: 'key', id: 'keyboard',
            actions: keys.flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]) }] }),
        /** A finger at the middle of the element with this selector. */
        async touch(selector) {
            const [x, y] = await run('const box = document.querySelector(arguments[0]); box.scrollIntoView({ block: "center" }); const at = box.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2];', selector);
            await line.ask('WebDriver:PerformActions', { actions: [{ type: 'pointer', id: 'finger', parameters: { pointerType: 'touch' },
                actions: [{ type: 'pointerMove', x: Math.round(x), y: Math.round(y) }, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }] }] });
        },
        async screenshot(path) {
            const { value } = await line.ask('WebDriver:TakeScreenshot', { full: true, hash: false });
            writeFileSync(path, Buffer.from(value, 'base64'));
        },
        async close() {
            await line.ask('Marionette:Quit', { flags: ['eForceQuit'] }).catch(() => {});
            line.end();
            await until(() => program.exitCode !== null || program.signalCode !== null, 'Firefox’s end').catch(() => program.kill());
            rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
        },
    };
}
