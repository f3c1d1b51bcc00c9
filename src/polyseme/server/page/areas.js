// Areas as tiles: a treemap to go into, whose small tiles are merged into one.

import { count, isStill, make } from "./dom.js";
import { hierarchy, treemap, treemapSquarify } from "./vendor/d3.js";

const LEAST = 90 * 60; // pixels of a tile that can say something
const REST = 2.5; // tiles that the merged ones take the room of
const MILLISECONDS = 380;

// Keep as many items, the largest first, as get a tile that can be read.
export function merged(items, area) {
  const sorted = [...items].sort((a, b) => b.value - a.value);
  const sums = [0];
  for (const { value } of sorted) sums.push(sums.at(-1) + value);
  const fits = (n) => {
    const smallest = sorted[n - 1].value, rest = n < sorted.length ? REST * smallest : 0;
    return (smallest / (sums[n] + rest)) * area >= LEAST;
  };
  let n = sorted.length;
  while (n > 1 && !fits(n)) n -= 1;
  if (sorted.length - n === 1) n = sorted.length; // one alone is not worth merging
  if (n === sorted.length) return sorted;
  return [...sorted.slice(0, n), { kind: "rest", items: sorted.slice(n), value: REST * sorted[n - 1].value }];
}

export class Areas {
  constructor(place, { open }) {
    this.place = place;
    this.open = open;
    this.layer = null;
    place.addEventListener("keydown", (event) => this.walk(event));
  }

  // Show items; `towards` says from where the picture flies: { key } of a tile, and "in" or "out".
  async show(items, towards = null) {
    const { clientWidth: width, clientHeight: height } = this.place;
    const tiles = this.laidOut(items, width, height);
    const layer = make("div", { class: "layer" }, tiles.map((tile) => this.tile(tile)));
    const before = this.layer;
    const from = towards?.way === "in" ? rectangle(before, towards.key) : towards?.way === "out" ? this.rectangleOf(tiles, towards.key) : null;
    const hadFocus = before?.contains(document.activeElement);
    this.layer = layer;
    if (before && from && !isStill()) {
      this.place.append(layer);
      await fly(towards.way === "in" ? before : layer, towards.way === "in" ? layer : before, from, width, height, towards.way);
    }
    this.place.replaceChildren(layer);
    if (hadFocus) layer.querySelector("button")?.focus({ preventScroll: true });
  }

  laidOut(items, width, height) {
    const children = merged(items, width * height);
    const root = hierarchy({ children }).sum((one) => one.value ?? 0);
    treemap().tile(treemapSquarify.ratio(1.3)).size([width, height]).paddingInner(2)(root);
    return (root.children ?? []).map(({ data, x0, y0, x1, y1 }) => ({ ...data, x: x0, y: y0, width: x1 - x0, height: y1 - y0 }));
  }

  tile(item) {
    const { x, y, width, height } = item;
    const isSmall = width < 90 || height < 50;
    const isRest = item.kind === "rest";
    const found = make("button", {
      type: "button",
      class: `tile ${item.kind}${isSmall ? " small" : ""}${item.isFound ? " found" : ""}`,
      "data-key": item.key,
      title: isRest ? null : [item.title, ...(item.others ?? [])].join(", "),
      "aria-current": item.isFound ? "true" : null,
      onclick: () => this.open(item),
    },
    make("strong", {}, isRest ? `+${item.items.length.toLocaleString("en")}` : item.title),
    !isRest && item.others?.length && !isSmall ? make("span", { class: "others" }, item.others.join(", ")) : null,
    !isSmall && item.n !== undefined ? make("span", { class: "n" }, item.said) : null,
    isSmall && item.said ? make("span", { class: "for-readers" }, item.said) : null);
    Object.assign(found.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    found.style.setProperty("--hue", String(item.hue ?? 240));
    if (item.light) found.style.setProperty("--light", `${item.light}%`);
    const size = Math.sqrt(width * height);
    found.querySelector("strong").style.fontSize = `${Math.max(0.72, Math.min(1.5, size / 170)).toFixed(2)}rem`;
    const others = found.querySelector(".others");
    if (others) others.style.fontSize = `${Math.max(0.75, Math.min(1.05, size / 300)).toFixed(2)}rem`;
    return found;
  }

  rectangleOf(tiles, key) {
    const found = tiles.find((tile) => tile.key === key);
    return found ? [found.x, found.y, found.width, found.height] : null;
  }

  mark(key) {
    for (const tile of this.layer?.querySelectorAll(".tile") ?? []) tile.classList.toggle("found", tile.dataset.key === key);
  }

  // Arrows go to the nearest tile in their direction.
  walk(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step === undefined || !event.target.matches(".tile")) return;
    event.preventDefault();
    const middle = (tile) => [tile.offsetLeft + tile.offsetWidth / 2, tile.offsetTop + tile.offsetHeight / 2];
    const [x, y] = middle(event.target);
    let best = null, least = Infinity;
    for (const tile of this.layer.querySelectorAll(".tile")) {
      const [dx, dy] = [middle(tile)[0] - x, middle(tile)[1] - y];
      const along = dx * step[0] + dy * step[1], aside = Math.abs(dx * step[1]) + Math.abs(dy * step[0]);
      if (along > 1 && along + 2 * aside < least) [best, least] = [tile, along + 2 * aside];
    }
    best?.focus();
  }
}

function rectangle(layer, key) {
  const tile = layer?.querySelector(`[data-key="${CSS.escape(key)}"]`);
  return tile ? [tile.offsetLeft, tile.offsetTop, tile.offsetWidth, tile.offsetHeight] : null;
}

// `outer` has the tile that `inner` comes out of, or goes back into.
async function fly(outer, inner, [x, y, w, h], width, height, way) {
  const into = `translate(${(-x * width) / w}px, ${(-y * height) / h}px) scale(${width / w}, ${height / h})`;
  const small = `translate(${x}px, ${y}px) scale(${w / width}, ${h / height})`;
  const outerFrames = [{ transform: "none", opacity: 1 }, { transform: into, opacity: 0 }];
  const innerFrames = [{ transform: small, opacity: 0 }, { transform: "none", opacity: 1 }];
  const timing = { duration: MILLISECONDS, easing: "cubic-bezier(.4, 0, .2, 1)", fill: "forwards", direction: way === "in" ? "normal" : "reverse" };
  await Promise.all([outer.animate(outerFrames, timing).finished, inner.animate(innerFrames, timing).finished]);
}

export const topicItem = ({ label, name, n_documents: n, n_senses: nSenses }, hue, isFound) => ({
  kind: "topic", key: `topic-${label}`, label, title: String(name), value: Math.sqrt(1 + n), n, hue, isFound,
  said: count(n, "text") + (nSenses > 1 ? `, ${count(nSenses, "meaning")}` : ""), light: nSenses > 1 ? 82 : 93 - 3 * (label % 3),
});
