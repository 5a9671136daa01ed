/* convergence.js -- how coefficients settle as devices come in, a small chart for each.
 *
 * All charts have the same axes: changes of the response over a feature's whole range, up to a
 * limit that moves by powers of two only, and devices, from the first look to the number
 * that plan asks for or that is projected. */
import { lineChart } from '../chart/lines.js';
import { pictureOfMany, saveButtons } from '../chart/save.js';
import { element, keyed, section, setText, show } from '../common/dom.js';
import { number, shortCount } from '../common/format.js';
import { about, featureRows, isTold, roughly } from './learnt.js';
import { toldSince, visibleAt } from './projection.js';

const SHOWN = 12; /* charts; the others are folded away */
const AHEAD = 30; /* times as many devices, at most, are looked ahead */
const AHEAD_STEPS = 24;
const ROOM_AHEAD = 1.5; /* times as many devices must fit on the axis before a projection can be seen */
const HEIGHT = 200;

/* The points of one coefficient, over its whole range, and where it stands now. */
function pointsOf(history, row, place, devices) {
    const by = row.range ?? 1;
    const times = (value) => (value === null ? null : value * by);
    const past = (history.convergence ?? []).filter((point) => point.devices < devices).map((point) => (
        { devices: point.devices, middle: times(point.estimate[place]), low: times(point.low[place]), high: times(point.high[place]) }));
    const known = row.identified && row.low !== null && row.high !== null;
    return [...past, { devices, middle: known ? times(row.estimate) : null, low: known ? times(row.low) : null, high: known ? times(row.high) : null }];
}

function words(points, row, { needed, isOver }) {
    const last = points.at(-1);
    if (isTold(row)) return `clearly not zero since ${about(toldSince(points) ?? last.devices)} devices`;
    if (last.middle !== null) {
        const projected = visibleAt(last) ?? Infinity;
        /* What is next to zero would give a number of devices that is noise itself. */
        return projected <= AHEAD * last.devices ? `visible at about ${about(projected)} devices, if it is as large as it seems`
            : `may be zero; to tell would ${isOver ? 'have taken' : 'take'} more than ${about(AHEAD * last.devices)} devices`;
    }
    return needed === null ? 'hidden by the noise' : `hidden by the noise; planned for about ${about(needed)} devices`;
}

/* A limit of the y axis that stays where it is while numbers move a little. */
function limitOf(rows, range) {
    const ends = rows.filter((row) => row.identified && row.low !== null).flatMap((row) => [row.low * (row.range ?? 1), row.high * (row.range ?? 1)]).map(Math.abs);
    const wanted = ends.length > 0 ? Math.max(...ends) : range ?? 1;
    const limit = 2 ** Math.ceil(Math.log2(wanted * 1.05));
    return range ? Math.min(limit, 2 ** Math.ceil(Math.log2(range))) : limit;
}

/* From the first point to what plan asks for or is projected, but not beyond AHEAD times what is there. */
function devicesShown(items, devices, needed) {
    const seen = items.flatMap(({ points }) => points.filter((point) => point.middle !== null).map((point) => point.devices));
    const first = Math.min(...seen, devices);
    const wanted = [needed ?? 0, ...items.map(({ points, row }) => (isTold(row) ? 0 : visibleAt(points.at(-1)) ?? 0))];
    const ahead = wanted.filter((one) => one <= AHEAD * devices);
    return [Math.max(1, Math.min(first, devices / 2)), Math.max(devices * 1.1, ...ahead.map((one) => one * 1.1))];
}

/* Where the words say that it will be visible, with the number that they say. */
function visibleMark(last, until) {
    const at = roughly(visibleAt(last) ?? Infinity);
    return at <= until ? [{ x: at, label: shortCount(at) }] : [];
}

const plannedMark = (needed, [from, until]) => (needed !== null && needed >= from && needed <= until ? [{ x: needed, label: 'planned' }] : []);

/* From the last point on: the half width goes with one over the root of the devices. */
function toCome({ devices, middle, low, high }, until) {
    if (middle === null || until <= devices) return [];
    return Array.from({ length: AHEAD_STEPS }, (_, i) => {
        const x = devices * (until / devices) ** ((i + 1) / AHEAD_STEPS);
        const shrink = Math.sqrt(devices / x);
        return { x, y: middle, low: middle + (low - middle) * shrink, high: middle + (high - middle) * shrink, ahead: true };
    });
}

const hasRoomAhead = (devices, until) => until >= ROOM_AHEAD * devices;

/* One line with its band, from where something is known on; of one that is not told yet, also how it
 * goes on if it stays where it is. */
function linesOf(row, points, { devices: [from, until], limit, needed, y }) {
    const last = points.at(-1);
    const seen = points.filter(({ devices }) => devices >= from).map(({ devices, middle, low, high }) => ({ x: devices, y: middle, low, high }));
    const ahead = isTold(row) || !hasRoomAhead(last.devices, until) ? [] : toCome(last, until);
    return {
        log: true,
        x: 'devices',
        y,
        domain: [-limit, limit],
        include: [0],
        xInclude: [from, until],
        marks: [{ x: last.devices, label: 'now' }, ...plannedMark(needed, [from, until]), ...(ahead.length > 0 ? [...visibleMark(last, until), { x: until, label: 'projected', wordsOnly: true }] : [])],
        series: [{ name: row.name, reference: !isTold(row), points: [...seen, ...ahead] }],
    };
}

/* All coefficients in one table, as far as they were seen. */
const tableOf = (items) => ({ x: 'devices', series: items.map(({ row, points }) => (
    { name: row.name, points: points.map(({ devices, middle, low, high }) => ({ x: devices, y: middle, low, high })) })) });

/* The charts that are drawn, with their names. */
const chartsIn = (node) => [...node.querySelectorAll('.multiples > div')].map((one) => (
    { name: one.querySelector('h3').textContent, svg: one.querySelector('svg') })).filter(({ svg }) => svg.hasAttribute('viewBox'));

let multiples = 0;

function multiple() {
    const id = `multiple-${++multiples}`;
    const name = element('bdi');
    const line = element('p', { class: 'facts', id });
    const plot = element('div', { class: 'plot' });
    const chart = lineChart(plot, 'Estimate and interval as devices come in', HEIGHT, id, { tools: false });
    return {
        node: element('div', {}, element('h3', {}, name), line, plot),
        update({ row, points, frame }) {
            setText(name, row.name);
            setText(line, words(points, row, frame));
            chart.update(linesOf(row, points, frame));
        },
    };
}

/* How many devices the table is from: of one round, where it is from one. */
function evidenceOf({ inference, reports }, { rounds }) {
    return inference.round === null ? reports : rounds[inference.round]?.reports ?? reports;
}

/* Told ones first, then those that will be visible soonest. */
const urgency = ({ row, points }) => (isTold(row) ? 0 : visibleAt(points.at(-1)) ?? Infinity);

export function convergenceSection(study) {
    const { name, unit } = study.response;
    /* What is explained is there to be seen. */
    const ahead = element('span', { text: ' Dashed, right of “now”: no data, but what would come if it stayed where it is.' });
    const planned = element('span', { text: ' “Planned”: effects of a usual size show from there.' });
    const lead = element('p', { class: 'facts' }, 'How the change of ', element('bdi', { text: name }),
        ' over a feature’s whole range, with its 95% interval, settles as devices come in. Blue: clearly not zero. Grey: it may be zero.', ahead, planned);
    const first = element('div', { class: 'multiples' });
    const rest = element('div', { class: 'multiples' });
    const summary = element('summary');
    const fold = element('details', {}, summary, rest);
    const updateFirst = keyed(first, (item) => item.row.name, multiple);
    const updateRest = keyed(rest, (item) => item.row.name, multiple);
    let all = null;
    const node = section('As devices come in', lead, first, fold,
        saveButtons('Estimates as devices come in', () => pictureOfMany(chartsIn(node)), () => (all === null || chartsIn(node).length === 0 ? null : tableOf(all))));
    fold.addEventListener('toggle', () => { if (fold.open) redraw(); });
    let folded = [];
    function redraw() { updateRest(fold.open ? folded : []); }
    return {
        node,
        update({ estimate, history }) {
            const rows = featureRows(estimate);
            const devices = evidenceOf(estimate, history);
            const items = rows.map((row, place) => ({ row, points: pointsOf(history, row, place, devices) }));
            const frame = { devices: devicesShown(items, devices, estimate.devices_needed), limit: limitOf(rows, estimate.response.range), needed: estimate.devices_needed, y: unit || name, isOver: estimate.state === 'done' };
            /* One point alone shows nothing that the results do not, unless there is something to come. */
            const seen = items.map(({ points }) => points.filter((point) => point.middle !== null).length);
            show(node, seen.some((many) => many > 1) || (seen.includes(1) && hasRoomAhead(devices, frame.devices[1])));
            if (node.hidden) return;
            all = items;
            show(planned, plannedMark(frame.needed, frame.devices).length > 0);
            show(ahead, hasRoomAhead(devices, frame.devices[1]) && items.some(({ row, points }) => !isTold(row) && points.at(-1).middle !== null));
            const chosen = items.length > SHOWN ? items.slice().sort((a, b) => urgency(a) - urgency(b)) : items;
            updateFirst(chosen.slice(0, SHOWN).map((item) => ({ ...item, frame })));
            folded = chosen.slice(SHOWN).map((item) => ({ ...item, frame }));
            show(fold, folded.length > 0);
            setText(summary, `${number(folded.length)} more`);
            redraw();
        },
    };
}
