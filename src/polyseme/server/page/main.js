// The page: which part is shown, which model is asked, and what went wrong.

import { chosen, get, hasToken, TokenWanted, useToken } from "./api.js";
import { find, make } from "./dom.js";
import * as map from "./map.js";
import * as quality from "./quality.js";
import * as senses from "./senses.js";
import * as tryOut from "./try.js";

const PARTS = { try: tryOut, senses, map, quality };
let models = [];

function showProblem(error) {
  const place = find("problem");
  const wantsToken = error instanceof TokenWanted;
  find("token-form").hidden = !wantsToken;
  place.textContent = wantsToken ? (hasToken() ? "The server does not accept this token." : "") : error.message;
  place.hidden = place.textContent === "";
  if (wantsToken) {
    hideParts();
    find("token").focus();
  }
}

function clearProblem() {
  find("problem").hidden = true;
}

function hideParts() {
  for (const name of Object.keys(PARTS)) find(`panel-${name}`).hidden = true;
}

function route() {
  const [wanted, ...rest] = location.hash.slice(1).split("/");
  const name = wanted in PARTS ? wanted : "try";
  clearProblem();
  hideParts();
  find(`panel-${name}`).hidden = false;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} – polyseme`;
  PARTS[name].show(rest.join("/"));
}

function choose(name) {
  const model = models.find((one) => one.name === name) ?? models[0];
  Object.assign(chosen, {
    model: model.name,
    takesTexts: model.takes.includes("text"),
    hasProbabilities: model.has_probabilities,
    threshold: model.threshold,
    senses: model.senses,
  });
  for (const part of Object.values(PARTS)) part.forget();
}

async function start() {
  try {
    models = (await get("models")).models;
  } catch (error) {
    showProblem(error);
    return;
  }
  find("token-form").hidden = true;
  find("model").replaceChildren(...models.map((one) => make("option", {}, one.name)));
  find("model-choice").hidden = models.length < 2;
  choose(models[0].name);
  route();
}

find("model").addEventListener("change", (event) => {
  choose(event.target.value);
  // What is behind the slash is a number of the other model.
  const part = location.hash.split("/")[0];
  if (location.hash === part) route();
  else location.hash = part;
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
for (const part of Object.values(PARTS)) part.begin({ showProblem, clearProblem });
start();
