// Many texts at once: files are dropped or opened, and a table of their topics can be saved.

import { address, chosen, latestOnly, post } from "./api.js";
import { count, find, make, percent } from "./dom.js";
import { textsOf } from "./reading.js";
import { asCsv, asLines, download } from "./saving.js";

const AT_ONCE = 32, LETTERS_AT_ONCE = 1_000_000, TOO_LARGE = 413, MOST_LABELS = 20, N_SHOWN = 100, EXCERPT = 120;
let tell, run;

export function begin(told) {
  tell = told;
  run = latestOnly(tell.showProblem);
  find("open-files").addEventListener("click", () => find("files").click());
  find("files").addEventListener("change", () => {
    take([...find("files").files]);
    find("files").value = "";
  });
  // Wherever a file is dropped, the browser must not leave the page for it.
  const sheet = find("sheet");
  const isWanted = () => chosen.model !== null && chosen.takesTexts;
  const onFiles = (kind, act) => document.addEventListener(kind, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    act(event);
  });
  for (const kind of ["dragenter", "dragover"]) onFiles(kind, () => sheet.classList.toggle("dropping", isWanted()));
  onFiles("dragleave", (event) => event.relatedTarget === null && sheet.classList.remove("dropping"));
  onFiles("drop", (event) => {
    sheet.classList.remove("dropping");
    if (!isWanted()) return;
    if (find("panel-try").hidden) location.hash = address("try");
    take([...event.dataTransfer.files]);
  });
}

export function forget() {
  run(async () => { find("many").hidden = true; });
}

function take(files) {
  run(async (signal, isCurrent) => {
    const read = await Promise.allSettled(files.map(textsOf));
    if (!isCurrent()) return;
    tell.clearProblem();
    // A file that cannot be read does not keep the others from being read.
    const problems = read.filter(({ reason }) => reason).map(({ reason }) => reason.message);
    const texts = read.flatMap(({ value }) => value ?? []);
    const tellProblems = () => problems.length && tell.showProblem(new Error(problems.join(" ")));
    const isEmpty = texts.every(({ text }) => text.trim() === "");
    if (isEmpty && problems.length === 0) problems.push("There is no text in these files.");
    if (texts.length === 1 && !isEmpty) await tell.useText(texts[0].text);
    tellProblems();
    if (isEmpty || texts.length === 1) return;
    const bar = make("progress", { max: texts.length, value: 0, "aria-label": "Texts that have their topics" });
    find("many").hidden = false;
    find("many").replaceChildren(make("div", { class: "row spread" },
      make("h3", {}, `Finding topics for ${count(texts.length, "text")}`),
      make("button", { type: "button", onclick: forget }, "Stop")), bar);
    find("many").scrollIntoView({ block: "nearest" });
    const found = [], threshold = tell.threshold();
    try {
      for (const part of batches(texts)) {
        found.push(...await topicsOf(part, threshold, problems, signal));
        if (!isCurrent()) return;
        bar.value = found.length;
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      problems.push(error.message); // what was found before is not lost
    }
    if (!isCurrent()) return;
    show(found, texts.length, threshold);
    tellProblems();
  });
}

// Where a part is too large, or a text in it, each half of it is asked for by itself.
async function topicsOf(part, threshold, problems, signal) {
  try {
    const { results } = await post("suggest-batch", { texts: part.map((one) => one.text), limit: MOST_LABELS, threshold }, signal);
    return part.map((one, i) => ({ ...one, topics: results[i] }));
  } catch (error) {
    if (error.status !== TOO_LARGE) throw error;
    if (part.length === 1) {
      problems.push(`${part[0].id} is too long for this server.`);
      return [{ ...part[0], topics: [] }];
    }
    const half = Math.ceil(part.length / 2);
    return [...await topicsOf(part.slice(0, half), threshold, problems, signal), ...await topicsOf(part.slice(half), threshold, problems, signal)];
  }
}

function* batches(texts) {
  let part = [], letters = 0;
  for (const one of texts) {
    if (part.length === AT_ONCE || (part.length && letters + one.text.length > LETTERS_AT_ONCE)) {
      yield part;
      [part, letters] = [[], 0];
    }
    part.push(one);
    letters += one.text.length;
  }
  if (part.length) yield part;
}

function show(found, nTexts, threshold) {
  const nWithout = found.filter((one) => one.topics.length === 0).length;
  const figure = (value) => Number(value.toPrecision(3));
  const rows = () => found.flatMap(({ id, topics }) => (topics.length
    ? topics.map((one) => [id, one.name, one.uri, figure(one.score), one.sense?.name]) : [[id, "", "", "", ""]]));
  const lines = () => found.map(({ id, text, topics }) => ({ id, text, topics }));
  find("many").replaceChildren(
    make("div", { class: "row spread" },
      make("h3", {}, `${found.length < nTexts ? `${found.length.toLocaleString("en")} of ` : ""}${count(nTexts, "text")} with their topics`),
      make("span", { class: "row" },
        make("button", { type: "button", class: "primary", onclick: () => download("topics.csv", asCsv(["id", "topic", "uri", "score", "meaning"], rows()), "text/csv") }, "Download table"),
        make("button", { type: "button", onclick: () => download("topics.jsonl", asLines(lines()), "application/jsonl") }, "Download JSON lines"),
        make("button", { type: "button", class: "bare", onclick: forget }, "Close"))),
    make("p", { class: "quiet" }, chosen.hasProbabilities ? `Topics are at least ${percent(threshold)} likely. ` : "", nWithout ? `${count(nWithout, "text")} got no topic. ` : "", `A row of the table is a text and one of its topics${nWithout ? "; texts without one have a row, too" : ""}.`,
      found.length > N_SHOWN ? ` The first ${N_SHOWN} are shown.` : ""),
    make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Texts with their topics" }, make("table", {},
      make("thead", {}, make("tr", {}, ["Text", "Topics"].map((title) => make("th", { scope: "col", class: "words" }, title)))),
      make("tbody", {}, found.slice(0, N_SHOWN).map(({ id, text, topics }) => make("tr", {},
        make("th", { scope: "row" }, make("button", { type: "button", class: "bare open", title: "open this text above", onclick: () => openText(text) }, id), make("br"), make("span", { class: "quiet" }, text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text)),
        make("td", { class: "words" }, topics.length ? make("ul", { class: "plain chips" }, topics.map((one) => make("li", {},
          make("a", { class: "chip", dir: "auto", href: address(`meanings/${one.label}`), title: one.sense?.name }, one.name, " ", make("span", { class: "quiet figure" }, chosen.hasProbabilities ? percent(one.score) : figure(one.score)))))) : "none")))))));
}

function openText(text) {
  tell.useText(text);
  find("sheet").scrollIntoView({ block: "center" });
}
