// Senses: a label found by name; its senses side by side, if it has several.

import { chosen, debounced, get, latestOnly } from "./api.js";
import { bar, count, find, labelList, make, percent, sure } from "./dom.js";

const ALONE = "The training texts have one label each, so that senses were told apart by ";
const EVIDENCE = { text: `${ALONE}their words alone.`, embedding: `${ALONE}the embedding of the texts.` };
let report, searchRun, labelRun, searched = null;

export function begin(tell) {
  report = tell;
  searchRun = latestOnly(tell.showProblem);
  labelRun = latestOnly((error) => {
    find("label").replaceChildren();
    tell.showProblem(error);
  });
  const later = debounced(search);
  find("query").addEventListener("input", later);
}

export function forget() {
  searched = null;
  find("query").value = "";
  find("found").replaceChildren();
  find("label").replaceChildren();
}

export function show(argument) {
  search();
  if (argument === "") labelRun(async () => find("label").replaceChildren());
  else showLabel(argument);
  markCurrent();
}

function search() {
  const query = find("query").value.trim();
  if (query === searched) return;
  searchRun(async (signal, isCurrent) => {
    const isAmbiguous = query === "" && chosen.senses?.n_ambiguous_labels > 0;
    const order = isAmbiguous ? "ambiguity" : query === "" ? "documents" : "best";
    const answer = await get("labels", { query, order, limit: 30 }, signal);
    if (!isCurrent()) return;
    searched = query;
    report.clearProblem();
    find("found-heading").textContent =
      { ambiguity: "Most ambiguous labels", documents: "Most frequent labels", best: "Found" }[order];
    find("found-help").textContent = query === "" ? helpSentence() : "";
    find("found-status").textContent = query === "" ? "" : foundSentence(answer, query);
    find("found").replaceChildren(...answer.labels.map((one) => make("li", {},
      make("a", { class: "hit", href: `#senses/${one.label}`, title: one.uri },
        make("span", { class: "name" }, one.name),
        one.n_senses > 1
          ? make("span", { class: "quiet", title: likelihood(one.ambiguity) },
            order === "ambiguity" ? sure(one.ambiguity) : count(one.n_senses, "sense"))
          : make("span", { class: "quiet" }, count(one.n_documents, "text"))))));
    markCurrent();
  });
}

// How the list is to be read, or why no label has senses.
function helpSentence() {
  const { senses } = chosen;
  if (senses === null) return "This model was trained without looking for senses. A training with today’s defaults looks for them.";
  if (senses.n_ambiguous_labels > 0) return "How sure it is that a label has several senses: of ten labels at 90%, nine should.";
  return senses.n_judged_labels > 0
    ? `None of the ${count(senses.n_judged_labels, "label")} with enough texts to judge by seems to have several meanings.`
    : "Every label has too few texts to tell whether it has several meanings.";
}

const likelihood = (share) =>
  `Of 100 labels that look as ambiguous as this one, about ${Math.min(99, Math.round(100 * share))} have several senses.`;

function foundSentence({ n_found: n, labels }, query) {
  if (n === 0) return `No label has “${query}” in its name.`;
  return n > labels.length ? `${count(n, "label")}, the best ${labels.length} are listed.` : `${count(n, "label")}.`;
}

function markCurrent() {
  for (const link of find("found").querySelectorAll("a")) {
    if (link.hash === location.hash) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function showLabel(argument) {
  labelRun(async (signal, isCurrent) => {
    if (!/^\d+$/.test(argument)) throw new Error(`“${argument}” is not the number of a label; search by name.`);
    const label = await get(`labels/${argument}`, {}, signal);
    if (!isCurrent()) return;
    find("label").replaceChildren(
      make("h3", { tabindex: "-1" }, label.name),
      make("p", { class: "quiet" }, `${count(label.n_documents, "training text")}.`, label.uri ? ` ${label.uri}` : ""),
      ...(label.senses.length ? severalSenses(label) : oneMeaning(label)),
      make("p", { class: "quiet" }, "On the map: ", ...label.slots.flatMap(({ cluster }, i) => [i ? ", " : "",
        make("a", { href: `#map/${cluster}` }, `cluster ${cluster}`)]), "."));
    // On a phone the list stands above the label; elsewhere both can be seen.
    if (matchMedia("(max-width: 56rem)").matches) find("label").scrollIntoView();
  });
}

function severalSenses({ senses, ambiguity, evidence }) {
  return [
    make("p", { id: "how-sure" }, `${count(senses.length, "sense")}; `,
      make("span", { title: likelihood(ambiguity) }, `${sure(ambiguity)} that it has several.`)),
    ...(EVIDENCE[evidence] ? [make("p", { class: "quiet", id: "evidence" }, EVIDENCE[evidence])] : []),
    make("div", { class: "senses" }, senses.map((sense) => make("article", { class: "sense" },
      make("h4", {}, sense.name || "Nothing tells it apart"),
      make("p", { class: "share" }, `${percent(sense.share)} of its texts`, bar(sense.share)),
      ...described(sense)))),
  ];
}

// Where it is not known which labels go with a label, those that share its cluster are near it.
function oneMeaning(label) {
  const near = label.labels.length ? label.labels : label.slots[0]?.neighbours ?? [];
  return [make("article", { class: "meaning", "aria-label": "What is known of it" },
    ...described({ ...label, labels: near }, label.labels.length ? undefined : "Labels near it"))];
}

function described({ labels, words, examples }, labelsTitle = "Labels that go with it") {
  const strongest = Math.max(...words.map((word) => word.weight), 1e-9);
  return [
    ...(labels.length ? [make("h5", {}, labelsTitle), labelList(labels)] : []),
    make("h5", {}, "Words"),
    words.length
      ? make("ul", { class: "plain weights" }, words.map((word) => make("li", {},
        make("span", { class: "name" }, word.name), bar(word.weight / strongest),
        make("span", { class: "figure" }, word.weight.toFixed(2)))))
      : make("p", {}, "No word speaks for it."),
    make("h5", {}, "Texts"),
    examples.length
      ? make("div", {}, examples.map((text) => make("blockquote", {}, text)))
      : make("p", {}, "The model keeps no texts for it."),
  ];
}
