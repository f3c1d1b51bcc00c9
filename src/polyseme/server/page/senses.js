// Senses: a label found by name, its senses side by side.

import { debounced, get, latestOnly } from "./api.js";
import { bar, count, find, inWords, make, percent } from "./dom.js";

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
    const order = query === "" ? "split" : "best";
    let answer = await get("labels", { query, order, limit: 30 }, signal);
    let heading = query === "" ? "Most split labels" : "Found";
    if (query === "" && answer.n_found === 0) {
      // Where nothing is split there are still labels to look at.
      answer = await get("labels", { order: "documents", limit: 30 }, signal);
      heading = "No label is split; most frequent labels";
    }
    if (!isCurrent()) return;
    searched = query;
    report.clearProblem();
    find("found-heading").textContent = heading;
    find("found-status").textContent = query === "" ? "" : foundSentence(answer, query);
    find("found").replaceChildren(...answer.labels.map((one) => make("li", {},
      make("a", { class: "hit", href: `#senses/${one.label}`, title: one.uri },
        make("span", { class: "name" }, one.name),
        make("span", { class: "quiet" }, `${count(one.n_senses, "cluster")}, ${count(one.n_documents, "text")}`)))));
    markCurrent();
  });
}

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
    const n = label.senses.length, isAlike = n > 1 && !label.slots_differ;
    find("label").replaceChildren(
      make("h3", { tabindex: "-1" }, label.name),
      make("p", { class: "quiet" },
        `${count(label.n_documents, "training text")}, ${count(n, isAlike ? "cluster" : "sense")}.`,
        n > 1 ? " A text may have been matched to several of them." : "",
        label.uri ? ` ${label.uri}` : ""),
      ...(isAlike ? [make("p", { id: "alike" }, `The words of these ${inWords(n)} slots hardly differ: by them, ` +
        `the label is in ${inWords(n)} clusters, not in ${inWords(n)} senses.`)] : []),
      make("div", { class: "senses" }, label.senses.map((sense, i) =>
        describe(sense, `${isAlike ? "Slot" : "Sense"} ${i + 1}`))));
    // On a phone the list stands above the label; elsewhere both can be seen.
    if (matchMedia("(max-width: 56rem)").matches) find("label").scrollIntoView();
  });
}

function describe(sense, title) {
  const strongest = Math.max(...sense.words.map((word) => word.weight), 1e-9);
  return make("article", { class: "sense", "aria-label": title },
    make("h4", {}, title),
    make("p", {}, `Matched by ${percent(sense.share)} of its texts, in `,
      make("a", { href: `#map/${sense.cluster}` }, `cluster ${sense.cluster}`), "."),
    make("h5", {}, "Strongest words"),
    sense.words.length
      ? make("ul", { class: "plain weights" }, sense.words.map((word) => make("li", {},
        make("span", { class: "name" }, word.name), bar(word.weight / strongest),
        make("span", { class: "figure" }, word.weight.toFixed(2)))))
      : make("p", {}, "No word speaks for it."),
    make("h5", {}, "Labels beside it"),
    sense.neighbours.length
      ? make("ul", { class: "plain words" }, sense.neighbours.map((one) => make("li", {},
        make("a", { class: "chip", href: `#senses/${one.label}` }, one.name))))
      : make("p", {}, "None."),
    make("h5", {}, "Texts"),
    sense.examples.length
      ? make("div", {}, sense.examples.map((text) => make("blockquote", {}, text)))
      : make("p", {}, "The model keeps no texts for it."));
}
