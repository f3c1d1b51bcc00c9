// Why a label is suggested: in which sense, what the learned order made of it, words marked in the
// text, the way through the tree.

import { chosen, latestOnly, post } from "./api.js";
import { find, labelChip, make, score } from "./dom.js";

const STRENGTHS = 5;
const N_LISTED = 8, N_TELLING = 6;
const LEAST_TELLING = 0.1; // of what tells most
const LEAST_EFFECT = 0.05; // on the log-odds of a label
const SCORES = "A score says how strongly words speak for a step and for those before it; it is no probability.";
const PERCENTAGE = " The label's percentage is: it says how often such scores were right in held-out texts.";
const LEARNED = " The label's percentage is, and comes from the learned order; scores do not add up to it.";
let run;

export function begin({ showProblem }) {
  run = latestOnly((error) => {
    close();
    showProblem(error);
  });
}

export function close() {
  find("why").hidden = true;
  run(async () => {});
}

export function explain(text, label) {
  run(async (signal, isCurrent) => {
    const answer = await post("explain", { text, labels: [label], n_words: 1000 }, signal);
    if (isCurrent()) showWhy(text, answer);
  });
}

function showWhy(text, { labels: [part], spans }) {
  find("heading-why").textContent = `Why “${part.name}”?`;
  find("why").hidden = false;
  if (part.slots.length === 0) {
    find("why-content").replaceChildren(make("p", {}, "No cluster of this label was reached by this text."));
    return;
  }
  const slots = [...part.slots].sort(bySure);
  const slot = slots[0];
  const steps = [
    ...slot.path.map((step, i) => ({
      title: i === slot.path.length - 1 ? `Cluster ${step.node}` : `Part ${step.node}`,
      score: step.score,
      margin: step.margin,
    })),
    { title: `“${part.name}”`, score: slot.score, margin: slot.margin },
    ...(part.sense ? [{ title: "its sense", score: null, margin: { contributions: part.sense.words } }] : []),
  ];
  const marked = make("div", { class: "marked", role: "region", "aria-label": "The text, words marked", tabindex: "0" });
  const listed = make("div");
  const buttons = steps.map((step, i) => make("button", {
    type: "button",
    class: "step",
    onclick: () => select(i),
  }, make("span", {}, step.title),
  step.score == null ? null : make("span", { class: "figure" }, score(step.score))));

  function select(position) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === position)));
    const { margin, title } = steps[position];
    const contributions = margin?.contributions ?? [];
    marked.replaceChildren(...markedText(text, contributions, spans));
    listed.replaceChildren(...(margin ? wordList(contributions, title)
      : [make("p", {}, `Which words led to ${title} is not known: this part of the model has no weights.`)]));
  }

  find("why-content").replaceChildren(
    ...(part.sense ? senseParts(part) : []),
    ...(part.order ? orderParts(part) : []),
    make("p", {}, make("a", { href: `#senses/${part.label}` }, `All about “${part.name}”`)),
    sentenceOfWay(slots),
    make("ol", { class: "plain path" }, buttons.map((button) => make("li", {}, button))),
    marked, listed,
    make("p", { class: "quiet" }, SCORES + (part.order ? LEARNED : chosen.hasProbabilities ? PERCENTAGE : "")));
  select(slot.path.length);
}

// The sense comes before the machinery.
function senseParts({ sense }) {
  const lines = [["words", sense.words, (one) => make("span", { class: "chip for" }, one.name)],
    ["beside labels", sense.labels, labelChip]]
    .map(([title, all, chip]) => [title, telling(all).map(chip)]).filter(([, chips]) => chips.length);
  return [
    make("p", { class: "sense-chosen" }, "Here in the sense ", make("strong", {}, sense.name),
      lines.length ? ", told by:" : "; nothing in the text tells it from the others."),
    ...lines.map(([title, chips]) => make("p", { class: "telling" }, title, ...chips)),
  ];
}

// What speaks against the sense, or hardly for it, is left out.
const telling = (all) => all.filter(({ amount }) =>
  amount > 0 && amount >= LEAST_TELLING * Math.max(...all.map((one) => one.amount))).slice(0, N_TELLING);

// What the learned order knows of a label beside its words; what hardly counts is left out.
function orderParts({ order }) {
  const effects = order.effects.filter(({ amount }) => Math.abs(amount) >= LEAST_EFFECT);
  return [
    make("p", { class: "order" }, order.sentence, effects.length ? " What counted there:" : ""),
    ...(effects.length ? [make("ul", { class: "effects" }, effects.map(({ amount, sentence }) =>
      make("li", { class: amount > 0 ? "for" : "against" }, sentence)))] : []),
  ];
}

function sentenceOfWay([best, ...others]) {
  const link = ({ cluster }) => make("a", { href: `#map/${cluster}` }, `cluster ${cluster}`);
  return make("p", { class: "quiet way" }, "The way through the tree, to ", link(best),
    ...others.flatMap((other) => ["; to ", link(other), ` too (${score(other.score)})`]),
    ". Choose a step to see which words led there.");
}

// Amounts are shared out over the places of a word; where words overlap, amounts add up.
function markedText(text, contributions, spans) {
  const characters = Array.from(text); // as the server counts them
  const amountOf = new Map(contributions.map((word) => [word.feature, word.amount]));
  const own = spans.filter(([feature]) => amountOf.has(feature));
  const places = new Map();
  for (const [feature] of own) places.set(feature, (places.get(feature) ?? 0) + 1);
  const changes = new Map();
  const change = (at, by) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const [feature, start, end] of own) {
    const amount = amountOf.get(feature) / places.get(feature);
    change(start, amount);
    change(end, -amount);
  }
  const bounds = [...new Set([0, ...changes.keys(), characters.length])].sort((a, b) => a - b);
  let amount = 0;
  const pieces = bounds.slice(0, -1).map((start, i) => {
    amount += changes.get(start) ?? 0;
    return { text: characters.slice(start, bounds[i + 1]).join(""), amount };
  });
  const most = Math.max(...pieces.map((piece) => Math.abs(piece.amount)), 1e-9);
  return pieces.map((piece) => {
    const strength = Math.round((STRENGTHS * Math.abs(piece.amount)) / most);
    if (strength === 0 || piece.text.trim() === "") return document.createTextNode(piece.text);
    const direction = piece.amount > 0 ? "for" : "against";
    return make("mark", { class: `${direction} strength-${strength}`, title: signed(piece.amount) }, piece.text);
  });
}

function wordList(contributions, title) {
  const strongest = [...contributions]
    .sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount)).slice(0, N_LISTED);
  if (strongest.length === 0) return [make("p", {}, `No word of the text speaks for or against ${title}.`)];
  return [
    make("p", { class: "quiet" }, `What counted most for ${title}; below zero speaks against it:`),
    make("ul", { class: "plain words" }, strongest.map((word) => make("li", {},
      make("span", { class: `chip ${word.amount > 0 ? "for" : "against"}` },
        word.name, " ", make("span", { class: "figure" }, signed(word.amount)))))),
  ];
}

// Scores end at 1; between slots that both came there, the larger margin says which is surer.
const bySure = (a, b) => (Math.abs(a.score - b.score) > 1e-6 || !a.margin || !b.margin
  ? b.score - a.score : b.margin.total - a.margin.total);

const signed = (amount) => `${amount > 0 ? "+" : "−"}${Math.abs(amount).toFixed(2)}`;
