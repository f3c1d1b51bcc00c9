// Quality: the evaluation that a model keeps.

import { chosen, get, latestOnly } from "./api.js";
import { bar, count, draw, find, make, percent, table } from "./dom.js";

const SIDE = 300, EDGE = 36;
let run;

export function begin({ showProblem }) {
  run = latestOnly(showProblem);
}

export function forget() {
  find("quality").replaceChildren();
}

export function show() {
  run(async (signal, isCurrent) => {
    const answer = await get("quality", {}, signal);
    if (isCurrent()) find("quality").replaceChildren(...parts(answer));
  });
}

function parts({ report, seconds, added_since_report: added, senses }) {
  const cost = table("What training took, in seconds", ["Phase", "Seconds"],
    Object.entries(seconds).map(([phase, taken]) => [phase, taken.toFixed(2)]));
  if (report === null) {
    return [make("p", {}, `The model “${chosen.model}” keeps no report: it was trained without held-out ` +
      "texts, or from features. “polyseme evaluate” measures it on a test set."), ...ambiguity(senses), cost];
  }
  return [
    ...staleness(added),
    make("p", {}, `Measured on ${count(report.n_documents, "text")} that the model did not learn from, ` +
      `with ${count(report.n_labels, "label")}.`,
      report.refitted ? " Afterwards it was trained again, on all texts." : ""),
    ...threshold(report.threshold),
    ...reach(report.reach),
    make("div", { class: "columns" },
      make("div", {}, accuracy(report.accuracy), frequencies(report.by_label_frequency)),
      make("div", {}, ...reliability(report.reliability))),
    ...ambiguity(senses),
    cost,
  ];
}

function staleness(added) {
  if (added === null) return [];
  return [make("p", { id: "stale" }, make("strong", {},
    `Measured before ${count(added.n_documents, "document")} and ${count(added.n_labels, "label")} were added; `,
    make("code", {}, "polyseme evaluate"), " measures the model as it is now."))];
}

function threshold(cut) {
  if (!cut) return [];
  const wanted = cut.wanted_precision;
  const why = wanted == null ? "chosen for the best F1" : `chosen for ${percent(wanted)} precision`;
  return [make("p", {}, `With the threshold of ${percent(cut.threshold)} (${why}), ` +
    `${percent(cut.precision, 1)} of the suggested labels are right, ${percent(cut.recall, 1)} of the true ` +
    `labels are found, and a text gets ${cut.labels_per_document.toFixed(1)} labels.`)];
}

function reach(share) {
  if (share == null) return [];
  return [make("p", { id: "reach" }, "Reach: the clusters that are searched hold ",
    make("strong", {}, `${share.toFixed(1)}%`), " of the true labels; the others cannot be found.", bar(share / 100))];
}

function accuracy(figures) {
  const cuts = [...new Set(Object.keys(figures).map((name) => Number(name.split("@")[1])))].sort((a, b) => a - b);
  const measures = [...new Set(Object.keys(figures).map((name) => name.split("@")[0]))];
  return table("Accuracy, in percent", ["Among the first", ...cuts.map(String)], measures.map((measure) =>
    [measure, ...cuts.map((k) => figures[`${measure}@${k}`]?.toFixed(1) ?? "")]));
}

function frequencies(rows) {
  const shown = (share) => make("span", { class: "with-bar" },
    make("span", { class: "figure" }, share.toFixed(1)), bar(share / 100));
  return table("First five suggestions (P@5 and R@5), by how many training texts a label has; in percent",
    ["Training texts", "Labels", "Right", "Found"], rows.map((row) =>
      [range(row), row.n_labels.toLocaleString("en"),
        row.n_suggested ? shown(row.precision) : "none suggested",
        row.n_true ? shown(row.recall) : "none to find"]));
}

function range({ least, most }) {
  if (most === null) return `${least.toLocaleString("en")} and more`;
  return least === most ? String(least) : `${least.toLocaleString("en")} to ${most.toLocaleString("en")}`;
}

function reliability(found) {
  if (!found) return [];
  const at = (x, y) => [EDGE + x * SIDE, EDGE / 2 + (1 - y) * SIDE];
  const largest = Math.max(...found.bins.map((bin) => bin.n), 1);
  const line = (from, to, kind) => draw("line", { class: kind, x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
  const text = ([x, y], anchor, words) => draw("text", { x, y, "text-anchor": anchor }, words);
  const points = found.bins.map((bin) => at(bin.mean_probability, bin.share_right));
  const size = SIDE + 1.5 * EDGE + 8;
  const picture = draw("svg", { class: "reliability", viewBox: `0 0 ${size} ${size}`, role: "img",
    "aria-label": "Reliability diagram; the table below has the same figures" },
    [0, 0.25, 0.5, 0.75, 1].flatMap((tick) => [
      line(at(0, tick), at(1, tick), "grid"),
      line(at(tick, 0), at(tick, 1), "grid"),
      text([at(0, tick)[0] - 5, at(0, tick)[1] + 4], "end", percent(tick)),
      text([at(tick, 0)[0], at(tick, 0)[1] + 15], "middle", percent(tick)),
    ]),
    line(at(0, 0), at(1, 1), "ideal"),
    draw("polyline", { class: "curve", points: points.map((point) => point.join(",")).join(" ") }),
    found.bins.map((bin, i) => draw("circle", { class: "point", cx: points[i][0], cy: points[i][1],
      r: 3 + 6 * Math.sqrt(bin.n / largest) }, draw("title", {}, `${count(bin.n, "suggestion")}`))),
    text([at(0.5, 0)[0], at(0, 0)[1] + 32], "middle", "probability that the model gave"));
  return [
    make("h3", {}, "Reliability"),
    make("p", {}, `Of the suggestions with a probability of 30%, 30% should be right. Probabilities above 10% are off ` +
      `by ${(100 * found.calibration_error).toFixed(1)} points on average; on the dashed line they would be exact.`),
    make("figure", {}, picture),
    table("Reliability", ["Probability", "Suggestions", "Mean", "Right"], found.bins.map((bin) =>
      [`${percent(bin.low)} to ${percent(bin.high)}`, bin.n.toLocaleString("en"),
        percent(bin.mean_probability, 1), percent(bin.share_right, 1)])),
  ];
}

// What a calibration may tell; figures that are not listed here are shown under their own names.
const FIGURES = {
  n_fused: ["Labels that were fused on purpose", figure],
  prior: ["Labels expected to be ambiguous", share],
  brier: ["Mean squared error of the probabilities (Brier)", figure],
};

function ambiguity(senses) {
  if (!senses) return [];
  const { n_judged_labels: judged, n_ambiguous_labels: ambiguous, calibration: { reliability: rows, ...others } } = senses;
  const isTested = Array.isArray(rows) && rows.length > 0;
  const figures = Object.entries(others).filter(([, value]) => ["number", "string"].includes(typeof value));
  return [
    make("h3", {}, "Ambiguous labels"),
    make("p", { id: "ambiguity" }, `${ambiguous.toLocaleString("en")} of ${count(judged, "label")} with enough texts to judge by ` +
      `${ambiguous === 1 ? "has" : "have"} several senses, as far as the model can tell. `,
      isTested ? "It was tested on labels known to be ambiguous or not, which took no part in learning to tell:"
        : "How reliable that is, the model does not say."),
    ...(isTested ? [table("How many labels were ambiguous, by how sure the model was", ["Probability", "Labels", "Mean", "Ambiguous"],
      rows.map((row) => [`${share(row.from, 0)} to ${share(row.to, 0)}`, figure(row.n), share(row.predicted), share(row.observed)]))] : []),
    ...(figures.length ? [table("More about ambiguous labels", ["Figure", "Value"], figures.map(([name, value]) => {
      const [title, shown] = FIGURES[name] ?? [name.replaceAll("_", " "), figure];
      return [title, shown(value)];
    }))] : []),
  ];
}

function share(value, digits = 1) {
  return typeof value === "number" ? percent(value, digits) : "–";
}

function figure(value) {
  if (typeof value !== "number") return value ?? "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}
