// What is said beside the map about the chosen node.

import { get, latestOnly } from "./api.js";
import { count, find, labelList, make, percent } from "./dom.js";

const MOST_LABELS = 200, MOST_LINKS = 40;
let run, slotsRun, markLabel;

export function begin(tell) {
  run = latestOnly(tell.showProblem);
  slotsRun = latestOnly(tell.showProblem);
  ({ markLabel } = tell);
}

export function clear() {
  run(async () => find("map-detail").replaceChildren());
}

export function show(icicle, place) {
  run(async (signal, isCurrent) => {
    const node = icicle.levels[place.level][place.node];
    const isCluster = place.level === icicle.last;
    const head = [
      make("h3", {}, icicle.title(place)),
      make("p", { class: "quiet" }, `${count(node.n_labels, "label")}.`),
      make("h4", {}, "Words that lead here"),
      make("p", {}, node.words.length ? node.words.join(", ") : "None are known."),
    ];
    if (!isCluster) {
      find("map-detail").replaceChildren(...head,
        make("h4", {}, "Largest labels"), labelList(node.labels), ...linkList(icicle));
      return;
    }
    const cluster = await get(`clusters/${place.node}`, { limit: MOST_LABELS }, signal);
    if (!isCurrent()) return;
    const several = cluster.labels.filter((label) => label.n_clusters > 1);
    const others = cluster.labels.filter((label) => label.n_clusters === 1);
    const isCut = cluster.n_labels > cluster.labels.length;
    const lines = icicle.last === 0 ? linkList(icicle) : []; // there is nothing above the clusters
    find("map-detail").replaceChildren(...head, ...lines,
      make("h4", {}, several.length ? "Labels that are elsewhere too" : "No label here is elsewhere too"),
      ...(several.length ? [labelList(several)] : []),
      ...(others.length ? [make("h4", {}, "Other labels"), labelList(others)] : []),
      ...(isCut ? [make("p", {}, `The largest ${cluster.labels.length} are listed.`)] : []));
  });
}

// The lines of the map as a list, for those who cannot point at them.
function linkList(icicle) {
  if (icicle.links.length === 0) return [make("p", {}, "No label is divided between clusters.")];
  const slots = make("div", { id: "map-slots" });
  const items = icicle.links.slice(0, MOST_LINKS).map((link) => {
    const button = make("button", { type: "button", class: "chip", "aria-pressed": "false" }, link.name);
    button.addEventListener("click", () => {
      const isOn = button.getAttribute("aria-pressed") === "true";
      for (const other of button.closest("ul").querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(!isOn));
      markLabel(isOn ? null : link.label);
      showSlots(slots, isOn ? null : link.label);
    });
    return make("li", {}, button);
  });
  return [make("h4", {}, "Show the lines of"), slots, make("ul", { class: "plain words" }, items)];
}

// The slots of a label: in which clusters it is, and what speaks for it there.
function showSlots(place, number) {
  slotsRun(async (signal, isCurrent) => {
    place.replaceChildren();
    if (number === null) return;
    const { name, slots } = await get(`labels/${number}`, {}, signal);
    if (!isCurrent()) return;
    place.replaceChildren(make("p", {}, `“${name}” is in ${count(slots.length, "cluster")}:`),
      make("ul", {}, slots.map((slot) => make("li", {},
        make("a", { href: `#map/${slot.cluster}` }, `cluster ${slot.cluster}`),
        `, which matched ${percent(slot.share)} of its texts`,
        slot.words.length ? ` (${slot.words.slice(0, 4).map((word) => word.name).join(", ")})` : ""))));
  });
}
