/* tap.mjs -- tests in JavaScript that print TAP.
 *
 * A test is a name and a function that throws when something is wrong; one
 * that fails does not stop the others. */
let run = 0;

export async function test(name, body) {
    run += 1;
    try {
        await body();
        console.log(`ok ${run} - ${name}`);
    } catch (error) {
        console.log(`not ok ${run} - ${name} (${String(error.message).split('\n').slice(0, 6).join(' | ')})`);
        process.exitCode = 1;
    }
}
