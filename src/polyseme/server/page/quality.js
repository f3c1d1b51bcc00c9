// Quality: the evaluation that a model keeps.

import { chosen, get, latestOnly } from "./api.js";
import { columns, frame } from "./chart.js";
import { busy, count, draw, find, make, percent, table } from "./dom.js";
import { thresholdCard } from "./threshold.js";
import { topicTable } from "./topic_table.js";

let run, isShown = false;

export function begin({ showProblem }) {
  run = latestOnly(showProblem);
}

export function forget() {
  isShown = false;
  run(() => {}); // ends what is on its way
  find("quality").replaceChildren();
}

// What is shown stays while the model is the same: so do a filter, an order, and how far one has scrolled.
export function show() {
  if (isShown) return;
  const place = find("quality"), waiting = busy("Fetching the report.");
  place.replaceChildren(waiting);
  run(async (signal, isCurrent) => {
    try {
      const answer = await get("quality", {}, signal);
      if (!isCurrent()) return;
      place.replaceChildren(...parts(answer, waiting));
      if (answer.report !== null) {
        const { labels } = await get("quality/labels", {}, signal);
        if (isCurrent() && labels.length) waiting.before(topicTable(labels, answer.report.threshold?.threshold));
      }
      isShown = isCurrent();
    } finally {
      waiting.remove();
    }
  });
}

// What the steps of a training are for; others are shown under their own names.
const STEPS = {
  "Counting words and labels": "Counting words and topics",
  "Computing features": "Turning texts into numbers",
  "Encoding texts": "Reading texts with the language model",
  "Fine-tuning the encoder": "Adapting the language model",
  "Training without held-out documents": "A first training, to measure it",
  "Measuring held-out documents": "Measuring it on texts that were held out",
  "Choosing C": "Choosing how closely to follow the texts",
  "Label tree": "Putting alike topics into groups",
  "Training the matcher": "Learning which groups fit a text",
  "Matching": "Finding the groups that fit each text",
  "Cross-matching": "Finding the groups that fit texts not learned from",
  "Assigning labels": "Giving topics further places in groups",
  "Training the matcher again": "Learning again which groups fit a text",
  "Training the ranker": "Learning to rank the topics in a group",
  "Learning the order": "Learning the order of suggestions",
  "Finding senses": "Finding meanings",
};

const card = (...content) => make("section", { class: "card" }, ...content);

function parts({ report, seconds, added_since_report: added, senses }, topics) {
  const cost = card(make("details", {}, make("summary", {}, "What training took"),
    table("What training took, in seconds", ["Step", "Seconds"],
      Object.entries(seconds).map(([phase, taken]) => [make("span", { title: phase }, STEPS[phase] ?? phase), taken.toFixed(2)]))));
  if (report === null) {
    const why = chosen.takesTexts ? "without held-out texts" : "from features, not from texts";
    return [card(make("p", {}, `The model “${chosen.model}” keeps no report: it was trained ${why}. ` +
      "“polyseme evaluate” measures it on a test set.")), ...ambiguity(senses), cost];
  }
  const intro = make("p", {}, `Measured on ${count(report.n_documents, "text")} that the model did not learn from, ` +
    `with ${count(report.n_labels, "topic")}.`,
  report.refitted ? " Afterwards it was trained again, on all texts." : "");
  return [
    card(...staleness(added), intro, ...thresholdCard(report)),
    make("div", { class: "two" },
      card(...frequencies(report.by_label_frequency)),
      ...(report.reliability ? [card(...reliability(report.reliability))] : [])),
    make("div", { class: "two" }, card(accuracy(report.accuracy), ...reach(report.reach)), ...ambiguity(senses)),
    topics,
    cost,
  ];
}

function staleness(added) {
  if (added === null) return [];
  return [make("p", { id: "stale" }, make("strong", {},
    `Measured before ${count(added.n_documents, "text")} and ${count(added.n_labels, "topic")} were added; `,
    make("code", {}, "polyseme evaluate"), " measures the model as it is now."))];
}

function reach(share) {
  if (share == null) return [];
  return [make("p", { id: "reach" }, "To be fast, the model compares a text with a part of the topics only; ",
    make("strong", {}, `${share.toFixed(1)}%`), " of the right ones are in that part (reach).")];
}

const MEASURES = {
  P: "suggestions that are right (precision)",
  R: "right topics that are found (recall)",
  nDCG: "right ones first (nDCG)",
  PSP: "precision, rare topics counting more (PSP)",
  PSnDCG: "nDCG, rare topics counting more (PSnDCG)",
};

function accuracy(figures) {
  const cuts = [...new Set(Object.keys(figures).map((name) => Number(name.split("@")[1])))].sort((a, b) => a - b);
  const measures = [...new Set(Object.keys(figures).map((name) => name.split("@")[0]))];
  return table("Accuracy, in percent", ["Among the first", ...cuts.map(String)], measures.map((measure) =>
    [MEASURES[measure] ?? measure, ...cuts.map((k) => figures[`${measure}@${k}`]?.toFixed(1) ?? "")]));
}

function frequencies(rows) {
  const share = (row, name, n) => (n ? row[name] / 100 : null);
  return [
    make("h3", {}, "Rare and frequent topics"),
    make("p", { class: "quiet" }, "Of the first five suggestions: how many are right, and how many of the right topics are found, by how many training texts a topic has."),
    make("p", { class: "legend" }, make("span", {}, "right"), make("span", { class: "second" }, "found")),
    columns({ "aria-label": "Precision and recall by frequency; the table below has the same figures" },
      { x: "training texts of a topic", y: "right and found, among the first five" },
      rows.map(range), [rows.map((row) => share(row, "precision", row.n_suggested)), rows.map((row) => share(row, "recall", row.n_true))]),
    make("details", {}, make("summary", {}, "The same as a table"), table("Right and found among the first five, in percent (P@5 and R@5)",
      ["Training texts", "Topics", "Right", "Found"], rows.map((row) =>
        [range(row), row.n_labels.toLocaleString("en"),
          row.n_suggested ? row.precision.toFixed(1) : "none suggested",
          row.n_true ? row.recall.toFixed(1) : "none to find"]))),
  ];
}

const short = (n) => (n >= 1000 ? `${n / 1000}k` : String(n));

function range({ least, most }) {
  if (most === null) return `${short(least)}+`;
  return least === most ? String(least) : most > 999 && (most + 1) % 1000 === 0 ? `${short(least)}–${short(most + 1)}` : `${least}–${most}`;
}

function reliability(found) {
  const largest = Math.max(...found.bins.map((bin) => bin.n), 1);
  const points = found.bins.map((bin) => [bin.mean_probability, bin.share_right]);
  const picture = frame({ class: "chart reliability", "aria-label": "Reliability diagram; the table below has the same figures" },
    { x: "probability that the model gave", y: "share that was right" },
    ({ at, path }) => [
      draw("path", { class: "ideal", d: path([[0, 0], [1, 1]]) }),
      draw("path", { class: "curve", d: path(points) }),
      found.bins.map((bin, i) => draw("circle", { class: "point", transform: `translate(${at(...points[i])})`,
        r: 3 + 6 * Math.sqrt(bin.n / largest) }, draw("title", {}, count(bin.n, "suggestion"))))]);
  return [
    make("h3", {}, "Can its probabilities be trusted?"),
    make("p", { class: "quiet" }, `Of the suggestions with a probability of 30%, 30% should be right. Probabilities above 10% are off ` +
      `by ${(100 * found.calibration_error).toFixed(1)} points on average; on the dashed line they would be exact.`),
    picture,
    make("details", {}, make("summary", {}, "The same as a table"),
      table("Reliability", ["Probability", "Suggestions", "On average", "Right"], found.bins.map((bin) =>
        [`${percent(bin.low)} to ${percent(bin.high)}`, bin.n.toLocaleString("en"),
          percent(bin.mean_probability, 1), percent(bin.share_right, 1)]))),
  ];
}

// What a calibration may tell; figures that are not listed here are shown under their own names.
const FIGURES = {
  n_fused: ["Pairs of topics joined into one, to have ambiguous ones to test on", figure],
  auc: ["How often an ambiguous topic seems more ambiguous than another (AUC)", share],
  brier: ["How far probabilities are off, squared; 0 is best (Brier score)", figure],
  prior: ["Topics expected to be ambiguous", share],
};

function ambiguity(senses) {
  if (!senses) return [];
  const { n_judged_labels: judged, n_ambiguous_labels: ambiguous, calibration: { reliability: rows, ...others } } = senses;
  const isTested = Array.isArray(rows) && rows.length > 0;
  const figures = Object.entries(others).filter(([, value]) => ["number", "string"].includes(typeof value));
  return [card(
    make("h3", {}, "Ambiguous topics"),
    make("p", { id: "ambiguity" }, `${ambiguous.toLocaleString("en")} of ${count(judged, "topic")} with enough texts to judge by ` +
      `${ambiguous === 1 ? "has" : "have"} several meanings, as far as the model can tell. `,
      isTested ? "It was tested on topics known to be ambiguous or not, which took no part in learning to tell:"
        : "How reliable that is, the model does not say."),
    ...(isTested ? [table("How many topics were ambiguous, by how sure the model was", ["Probability", "Topics", "On average", "Ambiguous"],
      rows.map((row) => [`${share(row.from, 0)} to ${share(row.to, 0)}`, figure(row.n), share(row.predicted), share(row.observed)]))] : []),
    ...(figures.length ? [make("details", {}, make("summary", {}, "More about ambiguous topics"),
      table("More about ambiguous topics", ["Figure", "Value"], figures.map(([name, value]) => {
        const [title, shown] = FIGURES[name] ?? [name.replaceAll("_", " "), figure];
        return [title, shown(value)];
      })))] : []))];
}

function share(value, digits = 1) {
  return typeof value === "number" ? percent(value, digits) : "–";
}

function figure(value) {
  if (typeof value !== "number") return value ?? "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}
