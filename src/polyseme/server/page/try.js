// Try: topics for a text as it is typed.

import { chosen, debounced, latestOnly, post } from "./api.js";
import { bar, count, find, isTouched, make, percent, score } from "./dom.js";
import * as many from "./many.js";
import * as review from "./review.js";
import * as samples from "./samples.js";
import { copy } from "./saving.js";
import * as why from "./why.js";

const LIMIT = 40, MOST_SHOWN = 25, LEAST = 0.01;
const COPIES = {
  Names: (shown) => shown.map((one) => one.name).join("\n"),
  URIs: (shown) => shown.map((one) => one.uri ?? one.name).join("\n"), // only where topics have some
  JSON: (shown) => JSON.stringify(shown, null, 2),
};
let tell, suggest, nKnown = null, picked = null;
let all = [], asked = "", items = new Map(); // what was suggested, for which text; all is null if asking failed

export function begin(told) {
  tell = told;
  const run = latestOnly((error) => {
    nKnown = null;
    setSuggestions(null);
    tell.showProblem(error);
  });
  suggest = () => run(ask);
  why.begin(tell);
  samples.begin({ ...tell, use: useText });
  review.begin({ ...tell, changed: markDecisions, learned: () => Promise.all([tell.refresh(), suggest()]) });
  many.begin({ ...tell, threshold, useText });
  const later = debounced(() => suggest());
  find("text").addEventListener("input", () => {
    why.close();
    markStale();
    later();
  });
  find("threshold").addEventListener("input", showSuggestions);
  find("threshold-own").addEventListener("click", () => {
    resetThreshold();
    showSuggestions();
    find("threshold").focus(); // the button is gone
  });
  find("clear").addEventListener("click", () => useText(""));
  find("suggestions").addEventListener("keydown", onKey);
  find("text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    find("suggestions").querySelector(".pick")?.focus();
  });
  find("copying").append(...Object.entries(COPIES).map(([name, text]) => make("button", {
    type: "button",
    "data-copy": name,
    onclick: async (event) => {
      const button = event.currentTarget;
      await copy(text(shown().filter(({ label }) => review.decision(label) !== "rejected")));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = name; }, 1200);
    },
  }, name)));
}

export function forget() {
  picked = null;
  setSuggestions([]);
  why.close();
  samples.forget();
  review.forget();
  many.forget();
  resetThreshold();
}

export function show() {
  find("try-able").hidden = !chosen.takesTexts;
  find("try-unable").hidden = chosen.takesTexts;
  find("try-unable").textContent =
    `The model “${chosen.model}” takes features, not texts, so there is nothing to type here. ` +
    "Meanings, map and quality work all the same.";
  if (!chosen.takesTexts) return;
  samples.offer();
  if (isStale() || !all?.length) suggest();
}

function useText(text) {
  find("text").value = text;
  review.follow();
  picked = null;
  why.close();
  markStale();
  if (!isTouched()) find("text").focus(); // a phone would cover the topics by its keys
  return suggest();
}

// The slider

const own = () => Math.max(LEAST, chosen.threshold ?? 0.1);
const threshold = () => (chosen.hasProbabilities ? Number(find("threshold").value) / 100 : chosen.threshold ?? 0);

function resetThreshold() {
  find("cut").hidden = !chosen.hasProbabilities;
  find("threshold").value = Math.round(100 * own());
  find("threshold-own").textContent = `back to ${percent(own())}`;
  find("threshold-own").title = "what the model would choose";
}

// Suggestions

async function ask(signal, isCurrent) {
  const text = find("text").value;
  if (text.trim() === "") {
    nKnown = null;
    setSuggestions([], text);
    return;
  }
  const answer = await post("suggest", { text, limit: LIMIT, threshold: chosen.hasProbabilities ? 0 : null, count_words: true }, signal);
  if (!isCurrent()) return;
  tell.clearProblem();
  nKnown = answer.n_known_words ?? null;
  setSuggestions(nKnown === 0 ? [] : answer.suggestions.filter((one) => !chosen.hasProbabilities || one.score >= LEAST / 2), text);
}

function setSuggestions(found, text = find("text").value) {
  const before = items.get(picked)?.querySelector(".why");
  all = found;
  asked = text;
  items = new Map((all ?? []).map((one) => [one.label, item(one)]));
  // What was said of the text before stays until there is something new to say.
  if (before) items.get(picked)?.querySelector(".why").replaceChildren(...before.childNodes);
  markStale();
  showSuggestions();
  if (picked !== null) open(picked);
}

// Nobody decides on a text by the topics of another.
const isStale = () => find("text").value !== asked;

function markStale() {
  find("suggestions").classList.toggle("stale", isStale());
}

function decide(one, wanted) {
  if (!isStale()) review.decide(one, wanted);
}

const shown = () => (all ?? []).filter((one) => !chosen.hasProbabilities || Math.round(100 * one.score) >= Math.round(100 * threshold())).slice(0, MOST_SHOWN);

function showSuggestions() {
  const text = find("text").value, likely = shown();
  find("threshold-shown").textContent = percent(threshold());
  find("threshold-own").style.visibility = percent(threshold()) === percent(own()) ? "hidden" : "";
  find("known").textContent = nKnown === null || text.trim() === "" ? "" : nKnown === 0 ? "no known word" : count(nKnown, "known word or phrase", "known words and phrases");
  find("try-status").textContent = likely.length ? `${likely.length < MOST_SHOWN ? "" : "the first "}${count(likely.length, "topic")}; pick one to see why` : "";
  find("after").hidden = likely.length === 0;
  find("copying").querySelector("[data-copy=URIs]").hidden = !likely.some((one) => one.uri);
  if (!likely.some((one) => one.label === picked)) picked = null;
  const focused = document.activeElement?.closest?.("#suggestions li")?.dataset.label;
  find("suggestions").replaceChildren(...likely.map(({ label }) => items.get(label)), ...(likely.length ? [] : [make("li", { class: "empty" }, emptySentence(text))]));
  markDecisions();
  if (focused !== undefined) (find("suggestions").querySelector(`[data-label="${focused}"] .pick`) ?? find("suggestions").querySelector(".pick") ?? find("text")).focus();
  if (picked === null) why.close();
  showOpened();
}

function emptySentence(text) {
  if (text.trim() === "") return "Topics appear here as you type.";
  if (nKnown === 0) return "No known word: the model has learned none of the words of this text, so it has nothing to go by.";
  if (all === null) return "The message above says why there are no topics.";
  const best = all[0];
  if (!best) return "No topic is likely.";
  return `No topic is at least ${percent(threshold())} likely. The best guess is “${best.name}”, ${percent(best.score)}.`;
}

function item(one) {
  return make("li", { class: "suggestion", "data-label": one.label },
    make("div", { class: "suggestion-line" },
      make("button", { class: "pick", type: "button", "aria-expanded": "false", title: one.uri, onclick: () => toggle(one.label) },
        make("span", {}, make("span", { class: "name", dir: "auto" }, one.name),
          one.sense?.name ? make("span", { class: "sense-name" }, `as in ${one.sense.name}`) : null),
        bar(one.score),
        make("span", { class: "figure" }, chosen.hasProbabilities ? percent(one.score) : score(one.score))),
      make("span", { class: "decide" },
        ["accept", "reject"].map((kind) => make("button", {
          type: "button", class: kind, "aria-pressed": "false", "aria-label": `${kind} ${one.name}`, title: `${kind} (${kind[0].toUpperCase()})`,
          onclick: () => decide(one, `${kind}ed`),
        }, kind === "accept" ? "✓" : "✗")))),
    make("div", { class: "why", hidden: true }));
}

function toggle(label) {
  if (picked === label) {
    picked = null;
    why.close();
    showOpened();
  } else open(label);
}

function open(label) {
  picked = label;
  showOpened();
  why.explain(find("text").value, label, find("suggestions").querySelector(`[data-label="${label}"] .why`));
}

function showOpened() {
  for (const line of find("suggestions").querySelectorAll("li[data-label]")) {
    const isOpen = Number(line.dataset.label) === picked;
    line.querySelector(".pick").setAttribute("aria-expanded", String(isOpen));
    line.querySelector(".why").hidden = !isOpen;
  }
}

function markDecisions() {
  for (const line of find("suggestions").querySelectorAll("li[data-label]")) {
    const made = review.decision(Number(line.dataset.label));
    for (const kind of ["accept", "reject"]) {
      line.classList.toggle(`${kind}ed`, made === `${kind}ed`);
      line.querySelector(`.${kind}`).setAttribute("aria-pressed", String(made === `${kind}ed`));
    }
  }
}

// One key decides, and goes on to the next topic.
function onKey(event) {
  const line = event.target.closest("li[data-label]");
  if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
  const focusOn = (other) => other?.querySelector(".pick")?.focus();
  const key = event.key.toLowerCase();
  if (key === "arrowdown") focusOn(line.nextElementSibling);
  else if (key === "arrowup") focusOn(line.previousElementSibling);
  else if (key === "escape") find("text").focus();
  else if (key === "a" || key === "r") {
    const one = all.find(({ label }) => label === Number(line.dataset.label));
    if (isStale()) return; // what is pressed now would be about another text
    review.decide(one, key === "a" ? "accepted" : "rejected");
    focusOn(line.nextElementSibling ?? line);
  } else return;
  event.preventDefault();
}
