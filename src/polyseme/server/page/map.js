// Map: the tree as an icicle; labels in several clusters as lines between them.

import { debounced, get, latestOnly } from "./api.js";
import { draw, find, make } from "./dom.js";
import { Icicle } from "./icicle.js";
import * as detail from "./map_detail.js";

const HEIGHT = 600, LINKS_WIDTH = 80, LEAST_HEIGHT = 2, MOST_LINKS = 120;
const LETTER = 6.6; // mean width at 12 pixels
let run, icicle = null, view, current, marked = null;

export function begin({ showProblem }) {
  run = latestOnly(showProblem);
  detail.begin({ showProblem, markLabel: (label) => { marked = label; render(); } });
  window.addEventListener("resize", debounced(() => icicle && !find("panel-map").hidden && render()));
}

export function forget() {
  icicle = null;
  find("map-picture").replaceChildren();
  find("map-path").replaceChildren();
  detail.clear();
}

export function show(argument) {
  run(async (signal, isCurrent) => {
    if (icicle === null) {
      const tree = await get("tree", {}, signal);
      if (!isCurrent()) return;
      icicle = new Icicle(tree);
    }
    const cluster = argument === "" ? null : Number(argument);
    marked = null;
    if (cluster === null) goTo(icicle.root, { level: 0, node: 0 });
    else if (icicle.has({ level: icicle.last, node: cluster })) goToCluster(cluster);
    else {
      goTo(icicle.root, { level: 0, node: 0 });
      throw new Error(`There is no cluster ${argument}; the last is ${icicle.nClusters - 1}.`);
    }
  });
}

function goToCluster(cluster) {
  const leaf = { level: icicle.last, node: cluster };
  goTo(icicle.parent(leaf), leaf);
}

// Show a part of the tree (`to`), with one of its nodes chosen.
function goTo(to, chosen) {
  view = to;
  current = chosen;
  render();
  detail.show(icicle, current);
}

function render() {
  const hadFocus = find("map-picture").contains(document.activeElement);
  const width = Math.max(280, find("map-picture").clientWidth);
  const columnWidth = (width - LINKS_WIDTH) / (icicle.last + 1);
  const [from, to] = icicle.range(view);
  const scale = HEIGHT / Math.max(1, to - from);
  const y = (position) => (position - from) * scale;

  const boxes = [];
  for (let level = 0; level <= icicle.last; level += 1) {
    for (const node of icicle.between(level, from, to)) {
      const place = { level, node };
      const [start, end] = icicle.range(place);
      const top = Math.max(0, y(start)), height = Math.min(HEIGHT, y(end)) - top;
      if (height >= LEAST_HEIGHT || same(place, current)) boxes.push(box(place, level * columnWidth, top, columnWidth, height));
    }
  }
  const x = columnWidth * (icicle.last + 1);
  const picture = draw("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group",
    "aria-labelledby": "heading-map", "aria-describedby": "map-help" },
    draw("rect", { class: "ground", width: x, height: HEIGHT }),
    draw("g", { role: "tree", "aria-labelledby": "heading-map", onkeydown: walk }, boxes),
    draw("g", { class: "links", "aria-hidden": "true" }, links(x, y)));
  find("map-picture").replaceChildren(picture);
  find("map-path").replaceChildren(...icicle.way(view).map((place) => make("button", {
    type: "button",
    "aria-current": same(place, view) ? "location" : null,
    onclick: () => goTo(place, icicle.firstChild(place)),
  }, icicle.title(place))));
  if (hadFocus) focusCurrent();
}

function box(place, x, y, width, height) {
  const isCurrent = same(place, current);
  const room = Math.floor((width - 10) / LETTER);
  const caption = icicle.caption(place);
  const fits = height >= 12 && room > 3;
  const short = caption.length > room ? `${caption.slice(0, room - 1)}…` : caption;
  return draw("g", {
    class: isCurrent ? "box current" : "box",
    role: "treeitem",
    "aria-level": place.level + 1,
    "aria-selected": String(isCurrent),
    "aria-label": icicle.described(place),
    tabindex: isCurrent ? "0" : "-1",
    "data-place": `${place.level}/${place.node}`,
    onclick: () => enter(place),
  },
  draw("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(1, width - 1.5), height: Math.max(1, height - 1) }),
  fits ? draw("text", { x: x + 6, y: Math.min(y + 15, y + height / 2 + 4) }, short) : null,
  draw("title", {}, icicle.described(place)));
}

// A line for each label, from cluster to cluster; those of the chosen cluster or label stand out.
function links(x, y) {
  const own = current.level === icicle.last ? current.node : null;
  const stands = (link) => (marked === null ? own !== null && link.clusters.includes(own) : link.label === marked);
  const shown = [...icicle.links.slice(0, MOST_LINKS).filter((link) => !stands(link)), ...icicle.links.filter(stands)];
  return shown.flatMap((link) => {
    const ends = link.clusters.map((cluster) => {
      const [start, end] = icicle.range({ level: icicle.last, node: cluster });
      return y((start + end) / 2);
    }).sort((a, b) => a - b);
    return ends.slice(1).flatMap((end, i) => {
      const start = ends[i];
      if ((start < 0 && end < 0) || (start > HEIGHT && end > HEIGHT)) return [];
      const reach = 8 + (LINKS_WIDTH - 12) * 1.3 * Math.min(1, (end - start) / HEIGHT);
      return draw("path", { class: stands(link) ? "link stands" : "link", "data-label": link.label,
        d: `M${x},${start} C${x + reach},${start} ${x + reach},${end} ${x},${end}` },
      draw("title", {}, String(link.name)));
    });
  });
}

function enter(place) {
  marked = null;
  if (place.level === icicle.last) {
    goTo(view, place);
    history.replaceState(null, "", `#map/${place.node}`);
  } else goTo(same(place, view) ? icicle.parent(place) : place, place);
  focusCurrent();
}

function walk(event) {
  const { level, node } = current;
  const step = {
    ArrowUp: { level, node: node - 1 },
    ArrowDown: { level, node: node + 1 },
    ArrowLeft: icicle.parent(current),
    ArrowRight: icicle.firstChild(current),
    Home: { level, node: 0 },
    End: { level, node: icicle.n(level) - 1 },
  }[event.key];
  if (event.key === "Enter" || event.key === " ") enter(current);
  else if (event.key === "Escape") goTo(icicle.parent(view), view.level < 0 ? current : view);
  else if (step === undefined) return;
  else if (icicle.has(step)) moveTo(step);
  event.preventDefault();
  focusCurrent();
}

function moveTo(place) {
  const [from, to] = icicle.range(view), [start, end] = icicle.range(place);
  const isOutside = end <= from || start >= to;
  const isSmall = ((end - start) / Math.max(1, to - from)) * HEIGHT < LEAST_HEIGHT;
  goTo(isOutside || isSmall ? icicle.parent(place) : view, place);
}

function focusCurrent() {
  find("map-picture").querySelector("[tabindex='0']")?.focus();
}

const same = (a, b) => a.level === b.level && a.node === b.node;
