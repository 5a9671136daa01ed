/* text.js -- how wide a text is, measured in the font that it is drawn in. */

let canvas = null;
let font = '16px sans-serif';
let size = 14; /* of letters, in pixels */
const LINE = 1.22; /* from one line of text to the next, in letters' sizes */

/** From now on texts are measured as those of this node are drawn. */
export function measureAs(node) {
    const style = getComputedStyle(node);
    size = parseFloat(style.fontSize);
    font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
}

/** How far texts stand below one another, in pixels: readers choose how large letters are. */
export const lineHeight = () => Math.round(LINE * size);

/** The width of a text, in pixels. */
export function widthOf(text) {
    canvas ??= document.createElement('canvas').getContext('2d');
    canvas.font = font;
    return canvas.measureText(text).width;
}

/** A text that fits a width; the whole belongs into a <title>. */
export function fitted(text, width) {
    if (widthOf(text) <= width) return text;
    const letters = Array.from(text);
    let kept = letters.length - 1;
    while (kept > 3 && widthOf(`${letters.slice(0, kept).join('')}…`) > width) kept--;
    return `${letters.slice(0, kept).join('')}…`;
}
