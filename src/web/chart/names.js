/* names.js -- the names of lines: at their right ends where there is room, each joined to its line,
 * or else in rows above the plot. */
import { fitted, layer, lineHeight, widthOf } from './chart.js';

const NAME_GAP = 26;       /* from the plot to a name, for what joins them */
const NAMES_SHARE = 0.38;  /* of the width that names may take */
const SWATCH = 26;
const MOST = 12;           /* more lines have no names but those that the pointer brings */
const LEGEND_GAP = 18;
const STYLES = 12;         /* of lines, in charts.css: as many as have names */

/** The look of a series: its class in charts.css. */
export const styleOf = (series, i) => (series.reference ? 'reference' : `s${i % STYLES}`);

/** Where the names go at this width: {right, rows}; rows are those of a legend. */
export function namesLayout(series, width, height) {
    if (series.length < 2 || series.length > MOST) return { right: 0, rows: [] };
    const widest = Math.max(...series.map((one) => widthOf(one.name)));
    if (widest + NAME_GAP <= NAMES_SHARE * width && series.length * lineHeight() <= height) {
        return { right: Math.ceil(widest) + NAME_GAP, rows: [] };
    }
    const rows = [];
    let used = Infinity;
    for (const one of series) {
        const takes = SWATCH + widthOf(one.name) + LEGEND_GAP;
        if (used + takes > width) {
            rows.push([]);
            used = 0;
        }
        rows.at(-1).push({ one, x: used });
        used += takes;
    }
    return { right: 0, rows };
}

/** Ends from top to bottom, each at least a name's height below the last, all within the plot. */
export function spread(ends, height) {
    const sorted = [...ends].sort((a, b) => a.end - b.end);
    let least = 0;
    for (const one of sorted) {
        one.y = Math.max(one.end, least);
        least = one.y + lineHeight();
    }
    let most = height;
    for (const one of sorted.toReversed()) {
        one.y = Math.min(one.y, most);
        most = one.y - lineHeight();
    }
    return sorted;
}

/** Names at the ends: `ends` are {name, style, x, end}, places in the plot. */
export function drawEndNames(plot, ends, width, height) {
    const places = spread(ends, height);
    const leaders = layer(plot, 'leaders').selectAll('path').data(places, (one) => one.name);
    leaders.exit().remove();
    leaders.enter().append('path').merge(leaders).attr('class', (one) => `leader ${one.style}`)
        .attr('d', (one) => `M${one.x + 5},${one.end}L${Math.max(one.x + 5, width + 4)},${one.end}L${width + NAME_GAP - 5},${one.y}`);
    const names = layer(plot, 'names').selectAll('text').data(places, (one) => one.name);
    names.exit().remove();
    names.enter().append('text').merge(names).attr('class', (one) => `name ${one.style}`).attr('x', width + NAME_GAP)
        .attr('y', (one) => one.y).attr('dy', '0.35em').text((one) => one.name);
}

/** The same in rows above the plot. */
export function drawLegend(plot, rows, left, top, width) {
    const items = rows.flatMap((row, i) => row.map(({ one, x }) => ({ ...one, at: x, row: i })));
    const groups = layer(plot, 'legend').attr('transform', `translate(${-left},${-top + lineHeight() / 2})`)
        .selectAll('g').data(items, (one) => one.name);
    groups.exit().remove();
    const entered = groups.enter().append('g');
    entered.append('path');
    entered.append('text').attr('x', SWATCH).attr('dy', '0.35em');
    const all = entered.merge(groups).attr('transform', (one) => `translate(${one.at},${one.row * lineHeight()})`);
    all.select('path').attr('class', (one) => `line ${one.style}`).attr('d', `M0,0H${SWATCH - 6}`);
    all.select('text').text((one) => fitted(one.name, width - SWATCH));
}
