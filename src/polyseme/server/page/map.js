// Map: topics by areas to go into, or as a cloud; search flies to a topic.

import { Areas, topicItem } from "./areas.js";
import { chosen, debounced, get, latestOnly } from "./api.js";
import { Cloud } from "./cloud.js";
import { busy, count, find, isStill, make } from "./dom.js";
import * as detail from "./map_detail.js";
import { addressOf, placeAt, same, Tree } from "./tree.js";

const MOST_TOPICS = 1000;
const HELP = {
  areas: "Topics that texts share lie in one area. Open an area, or one inside it.",
  cloud: "Every topic is a point; topics that the same words speak for lie near each other.",
};
let run, searchRun, tree = null, areas = null, cloud = null, kind = "areas", current = null, resized = null;
let gone = null; // what was searched for, once the map has gone there

export function begin({ showProblem }) {
  run = latestOnly(showProblem);
  searchRun = latestOnly(showProblem);
  detail.begin({ showProblem, goToTopic });
  find("show-areas").addEventListener("click", () => { location.hash = "#map"; });
  find("show-cloud").addEventListener("click", () => { location.hash = "#map/cloud"; });
  find("map-query").addEventListener("input", debounced(() => find("map-query").value === gone || search()));
  find("map-query").addEventListener("keydown", (event) => {
    if (event.key === "Enter") search({ goes: true }); // whoever types fast need not wait for the list
    else if (event.key === "ArrowDown") find("map-hits").querySelector("button")?.focus();
    else if (event.key === "Escape") closeHits();
    else return;
    event.preventDefault();
  });
  find("map-picture").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && kind === "areas" && current && current.level >= 0) go(tree.parent(current));
  });
  window.addEventListener("resize", debounced(() => !find("panel-map").hidden && resized?.()));
}

export function forget() {
  tree = areas = cloud = current = resized = null;
  find("map-picture").replaceChildren();
  find("map-path").replaceChildren();
  find("map-query").value = "";
  closeHits();
  detail.clear();
}

// An argument is an area and perhaps a topic in it, or "cloud" and perhaps a topic.
export function show(argument) {
  const [first, second = ""] = argument.split("/");
  const wanted = first === "cloud" ? "cloud" : "areas";
  for (const one of ["areas", "cloud"]) find(`show-${one}`).setAttribute("aria-pressed", String(one === wanted));
  find("map-help").textContent = HELP[wanted];
  find("map-path").hidden = wanted === "cloud";
  find("map-status").textContent = "";
  closeHits();
  const label = second === "" ? null : Number(second);
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
    if (wanted === "cloud") await showCloud(label, signal, isCurrent);
    else await showAreas(first, label, signal, isCurrent);
  });
}

// Areas

async function showAreas(address, label, signal, isCurrent) {
  const target = placeAt(tree, address);
  if (target === null) {
    history.replaceState(null, "", location.hash.replace(/^#map[^?]*/, "#map")); // the model stays
    await showAreas("", null, signal, isCurrent);
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
    const items = await itemsOf(step, isLast ? label : null, signal);
    if (!isCurrent()) return;
    const before = current;
    current = step;
    const towards = before === null || same(before, step) ? null
      : step.level > before.level ? { way: "in", key: keyOf(step) } : { way: "out", key: keyOf(before) };
    showPath();
    if (isLast) detail.show(tree, step, label);
    await areas.show(items, towards);
    if (!isCurrent()) return;
  }
  if (label !== null) areas.mark(`topic-${label}`);
  resized = async () => areas.show(await itemsOf(current, label));
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
  return tree.children(place).map((child, i) => ({
    ...areaItem(child),
    light: place.level < 0 ? 90 : 95 - 4 * (i % 4),
    inside: tree.children(child).map(areaItem),
  }));
}

function areaItem(place) {
  const [title, ...others] = tree.names(place), n = tree.nTopics(place);
  return { kind: "area", key: keyOf(place), place, title, others, value: tree.size(place), said: count(n, "topic"), hue: tree.hue(place) };
}

function open(item) {
  if (item.kind === "area") go(item.place);
  else if (item.kind === "topic") location.hash = `#map/${addressOf(tree, current)}/${item.label}`;
  else {
    areas.show(item.items);
    showPath(`${item.items.length.toLocaleString("en")} more`);
  }
}

function go(place) {
  const address = addressOf(tree, place);
  location.hash = address === "" ? "#map" : `#map/${address}`;
}

function showPath(more = null) {
  const way = tree.way(current);
  find("map-path").replaceChildren(...way.map((place, i) => make("button", {
    type: "button",
    "aria-current": more === null && i === way.length - 1 ? "location" : null,
    onclick: () => (same(place, current) ? show(addressOf(tree, place)) : go(place)),
  }, tree.title(place))), ...(more === null ? [] : [make("span", { class: "quiet" }, more)]));
}

// Cloud

async function showCloud(label, signal, isCurrent) {
  if (cloud === null) {
    find("map-picture").replaceChildren(busy("Laying out all topics; the first time takes a while."));
    const plane = await get("plane", {}, signal);
    if (!isCurrent()) return;
    if (plane.labels.length === 0) {
      find("map-picture").replaceChildren(make("p", { class: "busy-not card" }, "This model has no weights that could tell which topics are alike."));
      return;
    }
    cloud = new Cloud(find("map-picture"), plane, {
      pick: (picked) => { location.hash = `#map/cloud/${picked}`; },
      hueOf: (cluster) => tree.hue({ level: tree.last, node: cluster }),
    });
    resized = () => cloud.resize();
    find("map-status").textContent = `${count(plane.labels.length, "topic")}. Drag to move, turn the wheel or pinch to zoom.`;
  }
  if (label === null) detail.showCloud(cloud.n, cloud.n === chosen.nTopics);
  else {
    if (!cloud.choose(label)) find("map-status").textContent = "This topic is too rare to be in the cloud.";
    detail.showTopic(tree, label, "cloud");
  }
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
      goToTopic(labels[0].label);
      return;
    }
    gone = null;
    find("map-hits").hidden = false;
    find("map-hits").replaceChildren(...labels.map((one) => make("button", { type: "button", onclick: () => goToTopic(one.label) },
      make("span", { class: "name" }, one.name), make("span", { class: "quiet" }, one.n_senses > 1 ? count(one.n_senses, "meaning") : count(one.n_documents, "text")))),
    ...(labels.length ? [] : [make("p", { class: "quiet" }, `No topic has “${query}” in its name.`)]));
  });
}

function closeHits() {
  find("map-hits").hidden = true;
}

async function goToTopic(label) {
  closeHits();
  if (kind === "cloud") {
    location.hash = `#map/cloud/${label}`;
    return;
  }
  searchRun(async (signal, isCurrent) => {
    const { slots } = await get(`labels/${label}`, {}, signal);
    if (isCurrent() && slots.length) location.hash = `#map/${slots[0].cluster}/${label}`;
  });
}
