/* report.js -- a result that was saved as one file: an estimate, a simulation or a reproduction.
 *
 * The page carries its document, and the sections below are made from it by the study page's own
 * modules: a section appears where the document has its member. The result as text, which the page
 * holds for browsers without scripts, stays for the printer. */
import { lineChart } from './chart/lines.js';
import { element, section, stackedTable } from './common/dom.js';
import { cost, count, counted, number, pValue, roundedTo, stateWord } from './common/format.js';
import { answers, plainAnswers } from './study/answers.js';
import { coefficientsSection } from './study/coefficients.js';
import { savedGuarantee } from './study/guarantee.js';
import { tailsPart } from './study/tails.js';

const HEIGHT = 340;
const result = JSON.parse(document.getElementById('document').textContent);
const isEstimate = Array.isArray(result.coefficients);

const facts = (text) => element('p', { class: 'facts', text });
const between = (low, high) => `${number(low)} to ${number(high)}`;
const withEnds = (value, low, high) => (low === null ? number(value) : `${number(value)}, ${between(low, high)}`);

/* ---------------------------------------------------------------- what stands first */

function summary({ reports, state, round, rounds }) {
    const isOf = state ? `, ${stateWord(state)}${rounds > 1 ? `, round ${round + 1} of ${rounds}` : ''}` : '';
    return `${counted(reports, 'report')}${isOf}`;
}

function head() {
    return element('div', { class: 'head' }, element('h1', { text: result.title, dir: 'auto' }),
        element('p', { class: 'purpose', text: isEstimate ? summary(result) : result.summary }));
}

function answersPart() {
    if (!isEstimate) return plainAnswers(result.answers);
    const part = answers();
    part.update(result);
    return part.node;
}

/* ---------------------------------------------------------------- sections */

/* What privacy cost: a simulation knows what least squares says of the rows themselves. */
function rawSection({ simulation, coefficients }) {
    const interval = ({ identified, low, high, standard_error: error }) => (identified ? `${roundedTo(low, error)} to ${roundedTo(high, error)}` : '–');
    const rows = coefficients.map((row, i) => {
        const { estimate } = simulation.ols[i] ?? { estimate: null };
        return [row.name, roundedTo(row.estimate, row.standard_error), interval(row), row.identified ? roundedTo(estimate, row.standard_error) : number(estimate, 3)];
    });
    const share = (value) => element('span', { class: 'amount', text: number(value, 3) });
    return section('Private beside raw',
        element('p', { class: 'both' }, 'R² ', share(simulation.r2.mean), ' from private reports, ', share(simulation.r2_ols), ' by least squares on the raw rows'),
        facts(`The share of the response’s variance that is explained on ${simulation.held_out > 0 ? 'rows that were held out' : 'the training rows'}. No server sees what least squares reads.`),
        ...(rows.length > 0 ? [stackedTable(['Coefficient', 'From private reports', 'Interval', 'Least squares on raw rows'], rows)] : []));
}

function figureSection(figure) {
    const { title, words, series, floor = -Infinity } = figure;
    const plot = element('div', { class: 'plot' });
    const numbers = series[0].points.map(([x], i) => [number(x), ...series.map(({ points }) => number(points[i][1]))]);
    const node = section(title, facts(words), plot,
        element('details', {}, element('summary', { text: 'The numbers' }), stackedTable([figure.x, ...series.map(({ name }) => name)], numbers)));
    lineChart(plot, `${title}; the numbers are below`, HEIGHT).update({
        series: series.map((one) => ({
            name: one.title ?? one.name,
            reference: one.reference,
            points: one.points.map(([x, y, low = null, high = null]) => (y !== null && y >= floor
                ? { x, y, low: low === null ? null : Math.max(low, floor), high } : { x, y: null })),
        })),
        x: figure.x,
        y: figure.y,
        include: figure.include,
        dots: figure.dots,
        whole: series.every((one) => one.points.every(([x]) => Number.isInteger(x))),
    });
    return node;
}

function predictionSection({ prediction, r2, r2_low: low, r2_high: high }) {
    const words = r2 === null ? 'At this noise the reports do not show an R²'
        : `R² ${withEnds(r2, low, high)}: the share of the response’s variance that the prediction explains, estimated from the reports alone`;
    if (!prediction.told) return section('Prediction', facts(`${words}, and they do not support a prediction yet.`));
    return section('Prediction', facts(`${words}.`), stackedTable(['Coefficient', 'Value'],
        prediction.coefficients.map((row) => [row.name, number(row.estimate)]), 'Coefficients for prediction; shrunken, and not for conclusions'));
}

function diagnosticsSection({ diagnostics: found }) {
    const test = found.f_test;
    const rows = [
        ['Residual', withEnds(found.residual_sd, found.residual_sd_low, found.residual_sd_high), 'standard deviation of what is not explained, in the response’s own unit'],
        ...(test ? [['F test', number(test.f), `on ${number(test.numerator)} and ${number(test.denominator)} degrees of freedom, p ${pValue(test.p)}: small when some slope is not zero; holds its level at any noise`]] : []),
        ['Condition', number(found.condition), 'of the moment matrix that was solved for the prediction; a large one means that some combination of features hardly varies'],
        ['Raised', number(found.negative_eigenvalues), 'eigenvalues of the unbiased moment that noise made negative and the prediction had to raise'],
        ...(found.variance_inflation ?? []).map((row) => [`Inflation of ${row.name}`, withEnds(row.estimate, row.low, row.high),
            'how much the variance of this coefficient grows because other features resemble its own']),
    ];
    return section('Diagnostics', element('div', { class: 'meanings' }, stackedTable(['Diagnostic', 'Value', 'Meaning'], rows)));
}

function tailsSections(document_) {
    const part = tailsPart();
    part.update(document_);
    return [part.alarm, element('section', { class: 'card' }, part.node)];
}

function howSection({ made, how = [], prediction, study }) {
    const lines = [
        ...(isEstimate && result.coefficients.length > 0 ? ['Coefficients: the unbiased estimator, from moments of the reports with the known noise taken out. Standard errors: '
            + 'group jackknife over 32 groups of reports; intervals and p: Student’s t. Where noise hides a coefficient, the score test’s set takes the interval’s place.'] : []),
        ...(prediction?.method ? [`Prediction: method ${prediction.method}.`] : []),
        ...how,
        ...(made ? [`tremolo ${made.version}, ${made.time}`] : []),
    ];
    const codes = [...(made?.command ? [made.command] : []), ...(study ? [`study ${study}`] : [])];
    return section('How it was computed', element('ul', {}, ...lines.map((text) => element('li', { text })),
        ...codes.map((text) => element('li', {}, element('code', { text })))));
}

/* At the foot of every printed page. */
function foot({ made, study }) {
    const words = [...(made ? [`tremolo ${made.version}`, made.time] : []), ...(study ? [`study ${study}`] : [])];
    return element('footer', { class: 'printed', text: words.join(', ') });
}

/* ---------------------------------------------------------------- the page */

function coefficientsPart() {
    const part = coefficientsSection(null);
    part.update({ estimate: result });
    return part.node;
}

const main = document.querySelector('main');
document.documentElement.classList.add('drawn');
main.prepend(head(), answersPart(),
    ...(result.simulation ? [rawSection(result)] : []),
    ...(isEstimate ? [coefficientsPart()] : []),
    ...(result.figures ?? []).map(figureSection),
    ...(result.prediction ? [predictionSection(result)] : []),
    ...(result.diagnostics ? [diagnosticsSection(result)] : []),
    ...(result.tails ? tailsSections(result) : []),
    ...(result.guarantee !== undefined ? [savedGuarantee(result.guarantee)] : []),
    howSection(result));
main.append(foot(result));
