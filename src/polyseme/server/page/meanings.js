// Meanings: a topic found by name; its meanings side by side, if it has several.

import { address, chosen, debounced, get, latestOnly } from "./api.js";
import { bar, count, find, isNarrow, make, percent, sure, title, topicList } from "./dom.js";
import { inVocabulary } from "./vocabulary.js";

const ALONE = "Most training texts have one topic, so that meanings were told apart by ";
const EVIDENCE = { text: `${ALONE}their words alone.`, embedding: `${ALONE}the embedding of the texts.` };
const N_TONES = 6;
let tell, searchRun, labelRun, searched = null, current = null;

export function begin(told) {
  tell = told;
  searchRun = latestOnly(tell.showProblem);
  labelRun = latestOnly((error) => {
    find("label").classList.remove("waiting");
    find("label").replaceChildren();
    tell.showProblem(error);
  });
  find("query").addEventListener("input", debounced(() => {
    tell.clearProblem();
    search(null);
  }));
  find("query").addEventListener("keydown", (event) => {
    const first = find("found").querySelector("a");
    if (event.key === "Enter") search((found) => found && (location.hash = address(`meanings/${found.label}`)));
    else if (event.key === "ArrowDown") first?.focus();
    else return;
    event.preventDefault();
  });
  find("found").addEventListener("keydown", (event) => {
    const line = event.target.closest("li");
    if (event.key === "ArrowDown") line.nextElementSibling?.querySelector("a").focus();
    else if (event.key === "ArrowUp") (line.previousElementSibling?.querySelector("a") ?? find("query")).focus();
    else return;
    event.preventDefault();
  });
}

export function forget() {
  searched = null;
  current = null;
  find("label").classList.remove("waiting");
  find("query").value = "";
  find("found").replaceChildren();
  find("label").replaceChildren();
}

// Whoever goes back finds the place again that the page was scrolled to.
export function show(argument, place) {
  current = argument;
  // Without a topic in the address the first of the list is shown.
  search(argument === "" ? (first) => first && showTopic(String(first.label), false) : null);
  if (argument !== "") showTopic(argument, true, place);
}

function search(onFound) {
  const query = find("query").value.trim();
  if (query === searched && onFound === null) {
    markCurrent();
    return;
  }
  searchRun(async (signal, isCurrent) => {
    const isAmbiguous = query === "" && chosen.senses?.n_ambiguous_labels > 0;
    const order = isAmbiguous ? "ambiguity" : query === "" ? "documents" : "best";
    const answer = await get("labels", { query, order, limit: 40 }, signal);
    if (!isCurrent()) return;
    searched = query;
    find("found-heading").textContent =
      { ambiguity: "Most ambiguous", documents: "Most frequent", best: "Found" }[order];
    find("found-help").textContent = query === "" ? helpSentence() : "";
    find("found-status").textContent = query === "" ? "" : foundSentence(answer, query);
    find("found").replaceChildren(...answer.labels.map((one) => make("li", {},
      make("a", { class: "hit", href: address(`meanings/${one.label}`), title: one.uri, "data-label": one.label },
        make("span", { class: "name", dir: "auto" }, one.name, beneath(one, answer.labels)),
        one.n_senses > 1
          ? make("span", { class: "quiet", title: likelihood(one.ambiguity) },
            order === "ambiguity" ? sure(one.ambiguity) : count(one.n_senses, "meaning"))
          : make("span", { class: "quiet" }, count(one.n_documents, "text"))))));
    onFound?.(answer.labels[0]);
    markCurrent();
  });
}

// By which other name a topic was found, or what tells it from others of the same name.
function beneath({ label, name, uri, found_as: other }, found) {
  const isAlone = found.every((one) => one.label === label || one.name !== name);
  const words = other ?? (isAlone ? null : uri);
  return words ? make("span", { class: "beneath-name quiet" }, words) : null;
}

// How the list is to be read, or why no topic has several meanings.
function helpSentence() {
  const { senses } = chosen;
  if (senses === null) return "This model was trained without looking for meanings. A training with today’s defaults looks for them.";
  if (senses.n_ambiguous_labels > 0) return "How sure it is that a topic has several meanings: of ten at 90%, nine should.";
  return senses.n_judged_labels > 0
    ? `None of the ${count(senses.n_judged_labels, "topic")} with enough texts to judge by seems to have several meanings.`
    : "Every topic has too few texts to tell whether it has several meanings.";
}

const likelihood = (share) =>
  `Of 100 topics that look as ambiguous as this one, about ${Math.min(99, Math.round(100 * share))} have several meanings.`;

function foundSentence({ n_found: n, labels }, query) {
  if (n === 0) return `No topic has “${query}” in its name.`;
  return n > labels.length ? `${count(n, "topic")}, the best ${labels.length} are listed.` : `${count(n, "topic")}.`;
}

function markCurrent() {
  for (const link of find("found").querySelectorAll("a")) {
    if (link.dataset.label === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function showTopic(argument, isAsked, place = null) {
  current = argument;
  markCurrent();
  labelRun(async (signal, isCurrent) => {
    find("label").classList.add("waiting");
    if (!/^\d+$/.test(argument)) throw new Error(`“${argument}” is not the number of a topic; search by name.`);
    const label = await get(`labels/${argument}`, {}, signal);
    if (!isCurrent()) return;
    find("label").classList.remove("waiting");
    find("label").replaceChildren(
      make("h3", { tabindex: "-1", dir: "auto" }, title(label.name)),
      make("p", { class: "quiet" }, `${count(label.n_documents, "training text")}. `, label.uri ? link(label.uri) : null),
      ...inVocabulary(label),
      ...(label.senses.length ? severalMeanings(label) : oneMeaning(label)),
      ...(label.slots.length ? [make("p", { class: "where" },
        make("a", { href: address(`map/${label.slots[0].cluster}/${label.label}`) }, "Show on the map"))] : []));
    const side = find("label").querySelector(".senses");
    if (side?.scrollWidth > side?.clientWidth) side.before(make("p", { class: "quiet" }, "Scroll sideways to see all of them."));
    // On a phone the list stands above the topic; elsewhere both can be seen.
    if (place !== null) scrollTo(0, place);
    else if (isAsked && isNarrow()) find("label").scrollIntoView();
  });
}

const link = (uri) => (/^https?:/.test(uri) ? make("a", { href: uri, target: "_blank", rel: "noreferrer" }, uri) : uri);

function severalMeanings({ senses, ambiguity, evidence }) {
  const times = new Map();
  for (const { label } of senses.flatMap((sense) => sense.labels)) times.set(label, (times.get(label) ?? 0) + 1);
  return [
    make("p", { id: "how-sure" }, `${count(senses.length, "meaning")}; `,
      make("span", { title: likelihood(ambiguity) }, `${sure(ambiguity)} that it has several.`),
      make("span", { class: "quiet" }, " What tells them apart has their colours.")),
    ...(EVIDENCE[evidence] ? [make("p", { class: "quiet", id: "evidence" }, EVIDENCE[evidence])] : []),
    make("div", { class: "senses", tabindex: "0", role: "group", "aria-label": "Meanings" }, senses.map((sense, i) =>
      make("article", { class: `sense card ${tone(i)}` },
        make("h4", {}, sense.name || "Nothing tells it apart"),
        make("p", { class: "share" }, `${percent(sense.share)} of its texts`, bar(sense.share)),
        beside(sense.labels, ({ label }) => (times.get(label) > 1 ? "shared" : "")),
        words(sense.words),
        texts(sense.examples, senses)))),
  ];
}

const tone = (i) => `tone-${(i % N_TONES) + 1}`;

// Where it is not known which topics go with a topic, those that share its area are near it.
function oneMeaning(label) {
  const near = label.labels.length ? label.labels : label.slots[0]?.neighbours ?? [];
  return [make("article", { class: "meaning card", "aria-label": "What is known of it" },
    near.length ? make("div", {}, make("h5", {}, label.labels.length ? "Goes with" : "Topics near it"), topicList(near)) : null,
    words(label.words), texts(label.examples, [label]))];
}

const beside = (labels, kind) => make("div", {}, make("h5", {}, "Goes with"),
  labels.length ? topicList(labels, kind) : make("p", { class: "quiet" }, "No other topic."));

function words(found) {
  const strongest = Math.max(...found.map((word) => word.weight), 1e-9);
  if (!chosen.hasFeatureNames) return null; // numbers of features say nothing
  return make("div", {}, make("h5", {}, "Words"), found.length
    ? make("ul", { class: "plain weights" }, found.map((word) => make("li", {}, make("span", { class: "name" }, word.name), bar(word.weight / strongest))))
    : make("p", { class: "quiet" }, "No word speaks for it."));
}

// Words of each meaning are marked in its colour, whichever meaning a text has.
function texts(examples, senses) {
  return make("div", {}, make("h5", {}, "Texts"), examples.length
    ? examples.map((text) => make("blockquote", { dir: "auto" }, marked(text, senses)))
    : make("p", { class: "quiet" }, "The model keeps no texts for it."));
}

function marked(text, senses) {
  const senseOf = new Map();
  for (const [i, { words: own }] of senses.entries()) {
    for (const name of own.map((word) => String(word.name).toLowerCase())) if (!senseOf.has(name)) senseOf.set(name, i);
  }
  const names = [...senseOf.keys()].sort((a, b) => b.length - a.length).map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (names.length === 0) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${names.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((piece, i) => (i % 2
    ? make("mark", { class: senses.length > 1 ? tone(senseOf.get(piece.toLowerCase())) : "" }, piece) : piece));
}
