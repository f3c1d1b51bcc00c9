// Map: topics by areas to go into, or as a cloud; search flies to a topic.

import { Areas, topicItem } from "./areas.js";
import { address, chosen, debounced, get, latestOnly } from "./api.js";
import { Cloud } from "./cloud.js";
import { busy, count, find, isStill, isTouched, make } from "./dom.js";
import { ordered } from "./layout.js";
import * as detail from "./map_detail.js";
import { addressOf, placeAt, same, Tree } from "./tree.js";

const MOST_TOPICS = 1000;
const HELP = {
  areas: "Topics that texts share lie in one area. Open an area, or one inside it.",
  cloud: "Every topic is a point; topics that the same words speak for lie near each other.",
};
const MARK = " Topics with a marked corner have several meanings.";
let run, searchRun, tree = null, areas = null, cloud = null, kind = "areas";
let current = null, skipped = 0, topic = null; // the area, how many of its tiles come before those shown, the chosen topic
let gone = null; // what was searched for, once the map has gone there
let takesFocus = false; // whether the map gets it when it is shown, since what had it goes away

export function begin({ showProblem }) {
  run = latestOnly((error) => {
    find("map-picture").querySelector(".busy")?.remove();
    showProblem(error);
  });
  searchRun = latestOnly(showProblem);
  detail.begin({ showProblem, goToTopic: goToChosen });
  for (const wanted of ["areas", "cloud"]) find(`show-${wanted}`).addEventListener("click", () => change(wanted));
  find("map-query").addEventListener("input", debounced(() => find("map-query").value === gone || search()));
  find("map-query").parentElement.addEventListener("keydown", walkHits);
  document.addEventListener("pointerdown", (event) => find("map-query").parentElement.contains(event.target) || closeHits());
  find("map-picture").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || current === null) return;
    goTo(viewOf(topic !== null || skipped > 0 ? current : tree.parent(current)));
  });
  new ResizeObserver(debounced(() => (areas ?? cloud)?.resize())).observe(find("map-picture"));
}

export function forget() {
  run(async () => {}); // what is under way is about the former model
  tree = areas = cloud = current = topic = null;
  find("map-picture").replaceChildren();
  find("map-path").replaceChildren();
  find("map-query").value = "";
  closeHits();
  detail.clear();
}

// An argument is an area, and perhaps a topic in it or "+" and how many of its tiles come before those shown; or
// "cloud", perhaps a topic, and perhaps a meaning of it.
export function show(argument) {
  const [first, second = "", third = ""] = argument.split("/");
  const wanted = first === "cloud" ? "cloud" : "areas";
  for (const one of ["areas", "cloud"]) find(`show-${one}`).setAttribute("aria-pressed", String(one === wanted));
  find("map-help").textContent = HELP[wanted] + (wanted === "areas" && chosen.senses?.n_ambiguous_labels ? MARK : "");
  find("map-path").hidden = wanted === "cloud";
  find("map-status").textContent = "";
  closeHits();
  const isFurther = /^\+\d+$/.test(second), skip = isFurther ? Number(second) : 0;
  const label = topic = second === "" || isFurther ? null : Number(second);
  const getsFocus = takesFocus;
  takesFocus = false;
  run(async (signal, isCurrent) => {
    if (wanted !== kind) {
      kind = wanted;
      areas = cloud = current = null;
      find("map-picture").classList.remove("cloud");
    }
    if (tree === null) {
      find("map-picture").replaceChildren(busy("Looking at all topics."));
      const found = await get("tree", { links: 0 }, signal);
      if (!isCurrent()) return;
      tree = new Tree(found);
    }
    if (wanted === "cloud") await showCloud(label, third === "" ? null : Number(third), signal, isCurrent);
    else await showAreas(first, { label, skip, getsFocus }, signal, isCurrent);
    if (wanted === "cloud" && getsFocus && isCurrent()) cloud?.points.focus({ preventScroll: true });
  });
}

// Whoever changes to the other kind of map keeps the chosen topic; who chooses the same kind starts anew.
function change(wanted) {
  if (kind === wanted || topic === null) goTo(wanted === "cloud" ? "map/cloud" : "map");
  else goToTopic(topic, wanted);
}

const goTo = (view) => { location.hash = address(view); };

// Areas

async function showAreas(where, { label = null, skip = 0, getsFocus = false }, signal, isCurrent) {
  const target = placeAt(tree, where);
  if (target === null) {
    history.replaceState(null, "", address("map"));
    await showAreas("", {}, signal, isCurrent);
    throw new Error("There is no such area on the map.");
  }
  if (areas === null) {
    find("map-picture").replaceChildren();
    areas = new Areas(find("map-picture"), { open });
  }
  // Fly by way of the areas that lie between, out first and then in.
  const steps = current === null || isStill() ? [target] : between(current, target);
  for (const step of steps) {
    const isLast = same(step, target);
    const all = await itemsOf(step, isLast ? label : null, signal);
    if (!isCurrent()) return;
    const n = isLast ? Math.min(skip, Math.max(0, all.length - 1)) : 0, items = ordered(all).slice(n);
    const towards = directionOf(step, n);
    [current, skipped] = [step, n];
    showPath(n > 0 ? `${items.length.toLocaleString("en")} more` : null);
    if (isLast) detail.show(tree, step, label);
    await areas.show(items, towards, isLast && getsFocus);
    if (!isCurrent()) return;
  }
}

// Whether what comes next lies in what is shown, or around it, and by which tile of the larger one.
function directionOf(place, skip) {
  if (current === null || (same(place, current) && skip === skipped)) return null;
  if (same(place, current)) return { way: skip > skipped ? "in" : "out", key: "rest" };
  return place.level > current.level ? { way: "in", key: keyOf(place) } : { way: "out", key: keyOf(current) };
}

const keyOf = ({ level, node }) => `area-${level}-${node}`;

function between(from, to) {
  const [up, down] = [tree.way(from), tree.way(to)];
  let common = 0;
  while (common + 1 < Math.min(up.length, down.length) && same(up[common + 1], down[common + 1])) common += 1;
  const steps = [...up.slice(common, -1).reverse(), ...down.slice(common + 1)];
  return steps.length ? steps : [to];
}

async function itemsOf(place, label, signal) {
  const hue = tree.hue(place);
  if (tree.isLast(place)) {
    const { labels } = await get(`clusters/${place.node}`, { limit: MOST_TOPICS }, signal);
    return labels.map((one) => topicItem(one, hue, one.label === label));
  }
  return tree.children(place).map((child) => ({ ...areaItem(child), inside: tree.children(tree.entered(child)).map(areaItem) }));
}

function areaItem(area) {
  const [title, ...others] = tree.names(area), place = tree.entered(area);
  return { kind: "area", key: keyOf(place), place, title, others, value: tree.size(area), said: [count(tree.nTopics(area), "topic")], hue: tree.hue(area) };
}

function open(item) {
  if (item.kind === "area") goTo(viewOf(item.place));
  else goTo(viewOf(current, item.kind === "topic" ? item.label : `+${skipped + item.after}`));
}

const viewOf = (place, ...inside) =>
  (tree.isWhole(place) && inside.length === 0 ? "map" : ["map", addressOf(tree, place), ...inside].join("/"));

function showPath(more = null) {
  const way = tree.way(current);
  find("map-path").replaceChildren(...way.map((place, i) => make("button", {
    type: "button",
    "aria-current": more === null && i === way.length - 1 ? "location" : null,
    onclick: () => {
      takesFocus = true;
      visit(viewOf(place));
    },
  }, tree.title(place))), ...(more === null ? [] : [make("span", { class: "quiet", "aria-current": "location" }, more)]));
}

// Cloud

async function showCloud(label, meaning, signal, isCurrent) {
  if (cloud === null) {
    find("map-picture").replaceChildren(busy("Laying out all topics; the first time takes a while."));
    const plane = await get("plane", {}, signal);
    if (!isCurrent()) return;
    if (plane.labels.length === 0) {
      find("map-picture").replaceChildren(make("p", { class: "busy-not card" }, "This model has no weights that could tell which topics are alike."));
      return;
    }
    cloud = new Cloud(find("map-picture"), plane, {
      pick: (picked) => goTo(picked === null ? "map/cloud" : `map/cloud/${picked}`),
      hueOf: (cluster) => tree.hue({ level: tree.last, node: cluster }),
    });
  }
  find("map-status").textContent = cloud.choose(label, meaning)
    ? `${count(cloud.n, "topic")}. ${isTouched() ? "Two fingers move and zoom them." : "Drag or use the arrow keys to move, turn the wheel to zoom."}`
    : "This topic is too rare to be in the cloud.";
  if (label === null) detail.showCloud(tree, cloud.n, cloud.n === chosen.nTopics);
  else detail.showTopic(tree, label, "cloud");
}

export const theCloud = () => cloud; // for measurements

// Search

function search({ goes = false } = {}) {
  const query = find("map-query").value.trim();
  if (query === "") {
    closeHits();
    return;
  }
  searchRun(async (signal, isCurrent) => {
    const { labels } = await get("labels", { query, limit: 12 }, signal);
    if (!isCurrent()) return;
    if (goes && labels.length) {
      gone = find("map-query").value;
      goToChosen(labels[0].label);
      return;
    }
    gone = null;
    find("map-hits").hidden = false;
    find("map-hits").replaceChildren(...labels.map((one) => make("button", { type: "button", onclick: () => goToChosen(one.label) },
      make("span", { class: "name" }, one.name), make("span", { class: "quiet" }, one.n_senses > 1 ? count(one.n_senses, "meaning") : count(one.n_documents, "text")))),
    ...(labels.length ? [] : [make("p", { class: "quiet" }, `No topic has “${query}” in its name.`)]));
  });
}

function walkHits(event) {
  const stops = [find("map-query"), ...find("map-hits").querySelectorAll("button")], at = stops.indexOf(event.target);
  const isOpen = !find("map-hits").hidden;
  if (event.key === "Enter" && at === 0) search({ goes: true }); // whoever types fast need not wait for the list
  else if (event.key === "ArrowDown" && isOpen) stops[at + 1]?.focus();
  else if (event.key === "ArrowUp" && isOpen) stops[at - 1]?.focus();
  else if (event.key === "Escape" && isOpen) {
    closeHits();
    stops[0].focus();
  } else return;
  event.preventDefault();
}

function closeHits() {
  find("map-hits").hidden = true;
}

// The list or chip by which a topic was chosen goes away, so the map gets the focus.
function goToChosen(label) {
  takesFocus = true;
  goToTopic(label, kind);
}

async function goToTopic(label, wanted) {
  closeHits();
  searchRun(async (signal, isCurrent) => {
    if (wanted === "cloud") {
      visit(`map/cloud/${label}`);
      return;
    }
    const { slots } = await get(`labels/${label}`, {}, signal);
    if (isCurrent()) visit(slots.length ? `map/${slots[0].cluster}/${label}` : "map");
  });
}

// Who asks again for what is shown is led there once more, from wherever the cloud was moved to.
function visit(view) {
  if (location.hash === address(view)) show(view.slice("map/".length));
  else goTo(view);
}
