/* package_consumer.mts -- what an application in TypeScript does with the package, checked by
 * tsc --strict and then run by Node:   node package_consumer.mjs URL KEY FOLDER */
import { Device, Policy, Study, TremoloError, upload } from "tremolo-device";
import { FileStore } from "tremolo-device/file";

declare const process: { argv: string[] };
const [, , url, key, folder] = process.argv as [string, string, string, string, string];

const study: Study = await Study.fetch(url, { serverKey: key });
const device = new Device(new FileStore(folder), { policy: new Policy({ epsilonTotal: 8 }) });
try {
    await device.enrol();
} catch (error) {
    if (!(error instanceof TremoloError) || error.statusName !== "LEDGER_EXISTS") throw error;
}
const round = await study.round();
if (round.state !== "open") throw new Error("the study is not open");
const number: number = round.number;
const bytes: Uint8Array = await device.report(study, round, { sleep: 7.2, smoker: false, "heart rate": 61 });
const { accepted, repeated } = await upload(study, bytes, { patienceMs: 30000, onRetry: (waitMs: number) => console.error(waitMs) });
const budget = await device.budget();
const spent: number | undefined = budget?.epsilonSpent;
const title: string = study.terms.title;

// @ts-expect-error: the store is not optional
void (() => new Device());
// @ts-expect-error: values are by name
void (() => device.report(study, round, [7.2, 0, 61]));
// @ts-expect-error: a receipt has no such member
void (() => upload(study, bytes).then((receipt) => receipt.stored));

console.log(JSON.stringify({ title, number, accepted, repeated, spent, bytes: Array.from(bytes) }));
