// The page: which view is shown, which model is asked, and what went wrong.

import { chosen, get, hasToken, TokenWanted, useToken } from "./api.js";
import { count, find, make } from "./dom.js";
import * as map from "./map.js";
import * as meanings from "./meanings.js";
import * as quality from "./quality.js";
import * as tryOut from "./try.js";

const VIEWS = { try: tryOut, meanings, map, quality };
const FORMER = { senses: "meanings" }; // addresses that people may have kept
let models = [], version = "";

function showProblem(error) {
  const place = find("problem");
  const wantsToken = error instanceof TokenWanted;
  find("token-form").hidden = !wantsToken;
  place.textContent = wantsToken ? (hasToken() ? "The server does not accept this token." : "") : error.message;
  place.hidden = place.textContent === "";
  if (wantsToken) {
    hideViews();
    find("token").focus();
  }
}

function clearProblem() {
  find("problem").hidden = true;
}

function hideViews() {
  for (const name of Object.keys(VIEWS)) find(`panel-${name}`).hidden = true;
}

// An address is #view/argument?model=name; the model stands there where there are several.
function address() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const [wanted, ...rest] = path.split("/");
  const view = FORMER[wanted] ?? wanted;
  return { view: view in VIEWS ? view : "try", argument: rest.join("/"), model: new URLSearchParams(query).get("model") };
}

function route() {
  const { view, argument, model } = address();
  if (model !== null && model !== chosen.model && models.some((one) => one.name === model)) choose(model);
  if (models.length > 1 && model !== chosen.model) {
    const path = location.hash.slice(1).split("?")[0] || "try";
    history.replaceState(null, "", `#${path}?model=${encodeURIComponent(chosen.model)}`);
  }
  clearProblem();
  hideViews();
  find(`panel-${view}`).hidden = false;
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${find(`heading-${view}`).textContent} – polyseme`;
  VIEWS[view].show(argument);
}

function choose(name) {
  const model = models.find((one) => one.name === name) ?? models[0];
  Object.assign(chosen, {
    model: model.name,
    takesTexts: model.takes.includes("text"),
    hasProbabilities: model.has_probabilities,
    threshold: model.threshold,
    senses: model.senses,
    takesUpdates: model.takes_updates,
    nTopics: model.n_labels,
  });
  find("model").value = model.name;
  for (const view of Object.values(VIEWS)) view.forget();
  const saved = model.saved_at === null ? "" : `, of ${new Date(1000 * model.saved_at).toLocaleDateString("en-GB", { dateStyle: "long" })}`;
  find("about-version").textContent = `polyseme ${version}`;
  find("about-model").textContent = `Model “${model.name}”${saved}: ${count(model.n_labels, "topic")}, learned from ${count(model.n_documents, "text")}`;
}

async function start() {
  try {
    ({ models, version } = await get("models"));
  } catch (error) {
    showProblem(error);
    return;
  }
  find("token-form").hidden = true;
  find("model").replaceChildren(...models.map((one) => make("option", { value: one.name }, one.name)));
  find("model-choice").hidden = models.length < 2;
  choose(address().model ?? models[0].name);
  route();
}

find("model").addEventListener("change", (event) => {
  // What is behind the slash is a number of the other model.
  location.hash = `#${address().view}?model=${encodeURIComponent(event.target.value)}`;
});
find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(find("token").value.trim());
  start();
});
find("skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("content").focus();
});
window.addEventListener("hashchange", () => models.length && route());
for (const view of Object.values(VIEWS)) view.begin({ showProblem, clearProblem });
start();
