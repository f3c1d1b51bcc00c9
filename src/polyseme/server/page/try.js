// Try: labels for a text as it is typed.

import { chosen, debounced, get, latestOnly, post } from "./api.js";
import { bar, count, find, make, percent, score } from "./dom.js";
import * as why from "./why.js";

const LIMIT = 12, N_STARTERS = 4;
let report, suggest, picked = null, startersOf = null;

export function begin(tell) {
  report = tell;
  const run = latestOnly((error) => {
    showSuggestions([]);
    find("try-status").textContent = "";
    tell.showProblem(error);
  });
  suggest = () => run(ask);
  why.begin(tell);
  const later = debounced(() => suggest());
  find("text").addEventListener("input", () => {
    find("try-starters").hidden = find("text").value !== "";
    later();
  });
  find("try-all").addEventListener("change", () => suggest());
}

export function forget() {
  picked = null;
  startersOf = null;
  showSuggestions([]);
  why.close();
}

export function show() {
  find("try-able").hidden = !chosen.takesTexts;
  find("try-unable").hidden = chosen.takesTexts;
  find("try-unable").textContent =
    `The model “${chosen.model}” takes features, not texts, so there is nothing to type here. ` +
    "Senses, map and quality work all the same.";
  if (!chosen.takesTexts) return;
  find("try-starters").hidden = find("text").value !== "";
  offerStarters();
  suggest();
}

async function ask(signal, isCurrent) {
  const text = find("text").value;
  if (text.trim() === "") {
    showSuggestions([]);
    find("try-status").textContent = "Labels appear here as you type.";
    why.close();
    return;
  }
  const question = { text, limit: LIMIT };
  if (find("try-all").checked) question.threshold = 0;
  const { suggestions } = await post("suggest", question, signal);
  if (!isCurrent()) return;
  report.clearProblem();
  find("try-status").textContent = suggestions.length
    ? `${count(suggestions.length, "label")}; pick one to see why.`
    : "No label is likely enough. Write more, or look below the threshold.";
  if (!suggestions.some((one) => one.label === picked)) picked = null;
  showSuggestions(suggestions);
  if (picked === null) why.close();
  else why.explain(text, picked);
}

function showSuggestions(suggestions) {
  const hadFocus = find("suggestions").contains(document.activeElement);
  find("suggestions").replaceChildren(...suggestions.map((one) => make("li", {},
    make("button", {
      class: "suggestion",
      type: "button",
      "aria-pressed": String(one.label === picked),
      "data-label": one.label,
      title: one.uri,
      onclick: () => pick(one.label),
    },
    make("span", { class: "name" }, one.name,
      ...(one.sense ? [make("span", { class: "sense-name" }, " · ", one.sense.name)] : [])),
    bar(one.score),
    make("span", { class: "figure" }, chosen.hasProbabilities ? percent(one.score) : score(one.score))))));
  if (hadFocus) find("suggestions").querySelector("[aria-pressed=true]")?.focus();
}

function pick(label) {
  picked = label;
  for (const button of find("suggestions").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.label) === label));
  }
  why.explain(find("text").value, label);
}

// Texts to begin with: of the senses of the most ambiguous labels, or else of frequent labels.
async function offerStarters() {
  const place = find("try-starters"), model = chosen.model;
  if (startersOf === model) return;
  startersOf = model;
  place.replaceChildren();
  try {
    const order = chosen.senses?.n_ambiguous_labels ? "ambiguity" : "documents";
    const { labels } = await get("labels", { order, limit: N_STARTERS });
    if (startersOf !== model) return; // another model has other labels
    const details = await Promise.all(labels.map((one) => get(`labels/${one.label}`)));
    if (startersOf !== model) return;
    const texts = details.flatMap((one) => (one.senses.length ? one.senses : [one]).map((known) => known.examples[0]));
    const offered = [...new Set(texts.filter(Boolean))].slice(0, N_STARTERS);
    if (offered.length === 0) return;
    place.append(make("p", { class: "quiet" }, "Or begin with one of these:"),
      ...offered.map((text) => make("button", {
        type: "button",
        class: "starter",
        onclick: () => {
          find("text").value = text;
          place.hidden = true;
          find("text").focus();
          suggest();
        },
      }, text)));
  } catch (error) {
    report.showProblem(error);
  }
}
