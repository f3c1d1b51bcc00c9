// How each topic did: a table to sort, filter and save.

import { address, chosen } from "./api.js";
import { count, make, percent } from "./dom.js";
import { asCsv, download } from "./saving.js";

const N_SHOWN = 50;
const COLUMNS = [
  { key: "name", title: "Topic", isText: true },
  { key: "n_documents", title: "Training texts", kind: "optional" },
  { key: "n_true", title: "Test texts" },
  { key: "n_suggested", title: "Suggested", kind: "optional" },
  { key: "precision", title: "Precision", isShare: true },
  { key: "recall", title: "Recall", isShare: true },
  { key: "f1", title: "F1", isShare: true },
];

// Without accents, as in topic search.
const folded = (words) => words.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

export function topicTable(labels, threshold) {
  const rows = labels.map((one) => ({
    ...one,
    name: String(one.name),
    folded: folded(String(one.name)),
    precision: one.n_suggested ? one.n_right / one.n_suggested : null,
    recall: one.n_true ? one.n_right / one.n_true : null,
    f1: one.n_true + one.n_suggested ? (2 * one.n_right) / (one.n_true + one.n_suggested) : null,
  }));
  let sorted = { key: "n_true", isDown: true }, query = "", nShown = N_SHOWN;
  const body = make("tbody"), said = make("span", { class: "quiet", role: "status" });
  const more = make("button", { type: "button", onclick: () => { nShown += 200; render(); } }, "Show more");
  const heads = COLUMNS.map((column) => make("button", { type: "button", class: "sorter", onclick: () => {
    sorted = { key: column.key, isDown: sorted.key === column.key ? !sorted.isDown : !column.isText };
    render();
  } }, column.title));

  const wanted = () => rows.filter((row) => row.folded.includes(query)).sort(compare);
  const compare = (a, b) => {
    const [first, second] = [a[sorted.key], b[sorted.key]];
    if (first === null || second === null) return (first === null) - (second === null); // what is unknown comes last
    const order = typeof first === "string" ? first.localeCompare(second) : first - second;
    return (sorted.isDown ? -order : order) || b.n_true - a.n_true || a.label - b.label;
  };

  function render() {
    const found = wanted();
    heads.forEach((head, i) => {
      const isSorted = COLUMNS[i].key === sorted.key;
      head.parentElement?.setAttribute("aria-sort", isSorted ? (sorted.isDown ? "descending" : "ascending") : "none");
      if (isSorted) head.dataset.order = sorted.isDown ? "down" : "up";
      else delete head.dataset.order;
    });
    body.replaceChildren(...found.slice(0, nShown).map((row) => make("tr", {},
      make("th", { scope: "row" }, make("a", { class: "name", href: address(`meanings/${row.label}`) }, row.name)),
      COLUMNS.slice(1).map(({ key, isShare, kind = "" }) => make("td", { class: kind },
        row[key] === null ? "–" : isShare ? percent(row[key]) : row[key].toLocaleString("en"))))));
    said.textContent = `${count(found.length, "topic")}${found.length > nShown ? `, ${nShown} shown` : ""}`;
    more.hidden = found.length <= nShown;
  }

  const filter = make("input", { type: "search", "aria-label": "Filter topics by name", placeholder: "Filter by name", oninput: (event) => {
    query = folded(event.target.value.trim());
    nShown = N_SHOWN;
    render();
  } });
  const save = make("button", { type: "button", onclick: () => download(`${chosen.model}-topics.csv`,
    asCsv(["label", "uri", ...COLUMNS.map((column) => column.key)], wanted().map((row) => [row.label, row.uri, ...COLUMNS.map(({ key, isShare }) =>
      (isShare && row[key] !== null ? row[key].toFixed(4) : row[key]))])), "text/csv") }, "Download table");
  const shown = make("section", { class: "card", id: "topics" },
    make("h3", {}, "Topic by topic"),
    make("p", { class: "quiet" }, `At ${threshold == null ? "the model’s own threshold" : `a threshold of ${percent(threshold)}`}, in the texts that were held out. ` +
      "A topic with few of them says little."),
    make("p", { class: "quiet left-out" }, "On a narrow screen, “Training texts” and “Suggested” are left out; the downloaded table has them."),
    make("div", { class: "topics-bar" }, filter, save, said),
    make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Topic by topic" }, make("table", {},
      make("thead", {}, make("tr", {}, heads.map((head, i) => make("th", { scope: "col", class: COLUMNS[i].kind }, head)))), body)), more);
  render();
  return shown;
}
