// The page: which view is shown, which model is asked, and what went wrong.

import { address, chosen, get, hasToken, TokenWanted, useToken } from "./api.js";
import { count, find, make } from "./dom.js";
import * as map from "./map.js";
import * as meanings from "./meanings.js";
import * as quality from "./quality.js";
import * as tryOut from "./try.js";

const VIEWS = { try: tryOut, meanings, map, quality };
const FORMER = { senses: "meanings" }; // addresses that people may have kept
const places = new Map(); // how far each address was scrolled, for whoever goes back
let models = [], version = "", shown = null;

history.scrollRestoration = "manual"; // what stood there comes later than the browser would scroll

function showProblem(error) {
  const place = find("problem");
  const wantsToken = error instanceof TokenWanted;
  find("token-form").hidden = !wantsToken;
  place.textContent = wantsToken ? (hasToken() ? "The server does not accept this token." : "") : error.message;
  place.hidden = place.textContent === "";
  place.scrollIntoView({ block: "nearest" });
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
function whereTo() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const [wanted, ...rest] = path.split("/");
  const view = FORMER[wanted] ?? wanted;
  return { view: view in VIEWS ? view : "try", argument: rest.join("/"), model: new URLSearchParams(query).get("model") };
}

function route() {
  const { view, argument, model } = whereTo();
  clearProblem();
  hideViews();
  if (model !== null && models.every((one) => one.name !== model)) {
    showProblem(new Error(`This server has no model “${model}”, but ${models.map((one) => `“${one.name}”`).join(", ")}.`));
    return;
  }
  if (model !== null && model !== chosen.model) choose(model);
  if (chosen.isOneOfSeveral && model === null) {
    history.replaceState(null, "", address(location.hash.slice(1) || "try"));
  }
  find(`panel-${view}`).hidden = false;
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${find(`heading-${view}`).textContent} – polyseme`;
  const place = history.state?.isKnown ? places.get(location.hash) ?? 0 : null;
  VIEWS[view].show(argument, place);
  if (view !== shown || view === "meanings") scrollTo(0, place ?? 0);
  history.replaceState({ isKnown: true }, "");
  shown = view;
}

function choose(name) {
  describe(models.find((one) => one.name === name) ?? models[0]);
  find("model").value = chosen.model;
  for (const link of document.querySelectorAll("a[data-view]")) link.href = address(link.dataset.view);
  for (const view of Object.values(VIEWS)) view.forget();
}

function describe(model) {
  Object.assign(chosen, {
    model: model.name,
    isOneOfSeveral: models.length > 1,
    takesTexts: model.takes.includes("text"),
    hasProbabilities: model.has_probabilities,
    hasFeatureNames: model.has_feature_names,
    threshold: model.threshold,
    senses: model.senses,
    takesUpdates: model.takes_updates,
    nTopics: model.n_labels,
  });
  const saved = model.saved_at === null ? "" : `, of ${new Date(1000 * model.saved_at).toLocaleDateString("en-GB", { dateStyle: "long" })}`;
  find("about-version").textContent = `polyseme ${version}`;
  find("about-model").textContent = `Model “${model.name}”${saved}: ${count(model.n_labels, "topic")}, learned from ${count(model.n_documents, "text")}`;
}

// The model has learned something: what other views know of it is old.
async function refresh() {
  ({ models, version } = await get("models"));
  const model = models.find((one) => one.name === chosen.model);
  if (model) describe(model);
  for (const view of [meanings, map, quality]) view.forget();
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
  choose(whereTo().model ?? models[0].name);
  route();
}

find("model").addEventListener("change", (event) => {
  // What is behind the slash is a number of the other model.
  location.hash = `#${whereTo().view}?model=${encodeURIComponent(event.target.value)}`;
});
find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(find("token").value.trim());
  start().then(() => find("token-form").hidden && find("content").focus());
});
find("skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("content").focus();
});
window.addEventListener("hashchange", ({ oldURL }) => {
  places.set(new URL(oldURL).hash, scrollY);
  if (models.length) route();
});
for (const view of Object.values(VIEWS)) view.begin({ showProblem, clearProblem, refresh });
start();
