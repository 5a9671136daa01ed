/* resolve.mjs -- lets tests under Node import the package that the pages are bundled with. */
import { register } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const home = pathToFileURL(`${resolve(process.env.DEVICE_PACKAGE)}/`).href;
const hook = `export const resolve = (name, context, next) => (name.startsWith('tremolo-device')
    ? next(name, { ...context, parentURL: ${JSON.stringify(home)} }) : next(name, context));`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
