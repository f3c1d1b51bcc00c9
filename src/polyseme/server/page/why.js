// Why a topic is suggested: what it means here, which words speak for it, what made it likely.

import { address, chosen, latestOnly, post } from "./api.js";
import { make, topicChip } from "./dom.js";
import * as marks from "./marks.js";

const N_LISTED = 8, N_TELLING = 6;
const LEAST_TELLING = 0.1; // of what tells most
const LEAST_EFFECT = 0.05; // on the log-odds of a topic
let run;

export function begin({ showProblem }) {
  marks.begin();
  run = latestOnly((error) => {
    marks.clear();
    showProblem(error);
  });
}

export function close() {
  run(async () => marks.clear());
}

// Explain a label of a text in a place of the page, and mark the words in the text.
export function explain(text, label, place) {
  run(async (signal, isCurrent) => {
    const answer = await post("explain", { text, labels: [label], n_words: 1000 }, signal);
    if (isCurrent()) show(text, answer, place);
  });
}

function show(text, { labels: [part], spans }, place) {
  const links = make("p", { class: "row links" },
    make("a", { href: address(`meanings/${part.label}`) }, `All about “${part.name}”`),
    part.slots.length ? make("a", { href: address(`map/${best(part.slots).cluster}/${part.label}`) }, "Show on the map") : null);
  if (part.slots.length === 0) {
    marks.clear();
    place.replaceChildren(make("p", {}, "The text has too little in common with this topic for it to be weighed."), links);
    return;
  }
  const slot = best(part.slots), area = slot.path.at(-1);
  const views = [
    ["the topic", slot.margin?.contributions ?? null],
    ...(area ? [["its area", area.margin?.contributions ?? null]] : []),
    ...(part.sense ? [["its meaning", part.sense.words]] : []),
  ];
  const wasOpen = place.querySelector("details")?.open ?? false;
  const words = make("div", { class: "listed" });
  const buttons = views.map(([title], i) => make("button", { type: "button", onclick: () => select(i) }, title));

  function select(chosenView) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosenView)));
    const [title, contributions] = views[chosenView];
    marks.show(text, contributions ?? [], spans);
    words.replaceChildren(wordList(contributions, title));
  }

  place.replaceChildren(
    ...(part.sense ? [meaning(part)] : []),
    make("div", {},
      make("div", { class: "row spread" }, make("h4", {}, buttons.length > 1 ? "Words that speak for" : "Words that speak for it"),
        buttons.length > 1 ? make("span", { class: "segments", role: "group", "aria-label": "What the marked words speak for" }, buttons) : null),
      words),
    ...(part.order ? [likelihood(part.order, wasOpen)] : []),
    links);
  select(0);
}

function meaning({ sense }) {
  const words = sense.words.filter((one) => !one.is_common);
  const lines = [["words", words.length ? words : sense.words, (one) => make("span", { class: "chip for" }, one.name)],
    ["other topics", sense.labels, (one) => topicChip(one)]]
    .map(([title, all, chip]) => [title, telling(all).map(chip)]).filter(([, chips]) => chips.length);
  return make("div", { class: "meant" },
    make("p", { class: "sense-chosen" }, "Meant here: ", make("strong", {}, sense.name),
      lines.length ? ". What tells:" : ". Nothing in the text tells it from the other meanings."),
    ...lines.map(([title, chips]) => make("p", { class: "telling chips" }, make("span", { class: "quiet" }, title), ...chips)));
}

// What speaks against the sense, or hardly for it, is left out.
const telling = (all) => all.filter(({ amount }) =>
  amount > 0 && amount >= LEAST_TELLING * Math.max(...all.map((one) => one.amount))).slice(0, N_TELLING);

function wordList(contributions, title) {
  if (contributions === null) return make("p", { class: "quiet" }, `Which words speak for ${title} is not known: this model has no weights to show.`);
  const strongest = [...contributions].sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount)).slice(0, N_LISTED);
  if (strongest.length === 0) return make("p", { class: "quiet" }, `No word of the text speaks for or against ${title}.`);
  return make("ul", { class: "plain chips" }, strongest.map((word) => make("li", {},
    make("span", { class: `chip ${word.amount > 0 ? "for" : "against"}`, title: word.amount > 0 ? "speaks for it" : "speaks against it" },
      word.amount > 0 ? "" : "− ", word.name))));
}

// What the learned order knows of a label beside its words; what hardly counts is left out.
function likelihood(order, isOpen) {
  const effects = order.effects.filter(({ amount }) => Math.abs(amount) >= LEAST_EFFECT);
  return make("details", { class: "order", open: isOpen },
    make("summary", {}, chosen.hasProbabilities ? "What made it this likely" : "What gave it its place"),
    make("p", { class: "quiet" }, order.sentence),
    effects.length ? make("ul", { class: "effects" }, effects.map(({ amount, sentence }) =>
      make("li", { class: amount > 0 ? "for" : "against" }, sentence))) : null);
}

// Scores end at 1; between places that both came there, the larger margin says which is surer.
const best = (slots) => [...slots].sort((a, b) => (Math.abs(a.score - b.score) > 1e-6 || !a.margin || !b.margin
  ? b.score - a.score : b.margin.total - a.margin.total))[0];
