// Areas as tiles to go into; a large tile shows what is in it.

import { count, isCode, isStill, make, title } from "./dom.js";
import { fontSize, laidOut, PLAIN, shortened, textWidth } from "./layout.js";

const TILES = { least: 130 * 66, wider: 2 }, INSIDE = { least: 88 * 34, wider: 2.4 }; // least: pixels that can say something
const MANY = 6; // tiles inside another that are worth their room
const HEAD = 34, EDGE = 6, FIGURE = 110, ALSO = 70; // pixels: above what is inside, around it, for a number of topics, for further names
const SMALLEST = 0.62; // rem
const LINE = 16 * 1.2, LOW = 60; // a tile that is lower has room for its name alone
const MILLISECONDS = 380;
const FIGURES = 0.72; // rem, as in map.css

export class Areas {
  constructor(place, { open }) {
    this.place = place;
    this.open = open;
    this.layer = null;
    this.items = [];
    place.addEventListener("keydown", (event) => this.walk(event));
  }

  // Show items; `towards` says from where the picture flies: { key } of a tile, and the way, "in" or "out".
  async show(items, towards = null, takesFocus = false) {
    const { clientWidth: width, clientHeight: height } = this.place;
    this.items = items;
    this.size = `${width} ${height}`;
    const tiles = laidOut(items, width, height, TILES);
    const layer = make("div", { class: "layer" }, tiles.map((tile) => this.tile(tile)));
    const before = this.layer;
    const from = towards?.way === "in" ? rectangle(before, towards.key) : towards?.way === "out" ? this.rectangleOf(tiles, towards.key) : null;
    this.layer = layer;
    if (before && from && !isStill()) {
      this.place.append(layer);
      await fly(towards.way === "in" ? before : layer, towards.way === "in" ? layer : before, from, width, height, towards.way);
      if (this.layer !== layer) return; // a later picture has taken its place
    }
    const isFocused = this.place.contains(document.activeElement), last = document.activeElement.dataset.key;
    this.place.replaceChildren(layer);
    if (isFocused || takesFocus) this.focus(towards === null ? last : towards.way === "out" ? towards.key : undefined);
  }

  // On a tile that was left or kept, else on what was sought, else on the first.
  focus(key = "") {
    const tile = this.tileOf(key) ?? this.layer.querySelector(".found") ?? this.layer.querySelector(".tile");
    tile?.focus({ preventScroll: true });
  }

  tileOf(key) {
    return this.layer?.querySelector(`[data-key="${CSS.escape(key)}"]`);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width > 0 && this.size !== `${width} ${height}`) this.show(this.items);
  }

  tile(item) {
    const { width, height, kind } = item;
    const isRest = kind === "rest", isSmall = width < 90 || height < 50, across = width - (isSmall ? 10.5 : 17);
    const inside = item.inside?.length && height > 2 * HEAD ? laidOut(item.inside, width - 2 * EDGE, height - HEAD - EDGE, INSIDE) : [];
    const isRoomy = inside.length >= MANY;
    const title = isRest ? `+${item.items.length.toLocaleString("en")}` : item.title;
    const size = isRoomy ? Math.min(1.1, Math.max(0.85, width / 260)) : fontSize(title, across, SMALLEST, Math.max(0.78, Math.min(1.3, Math.sqrt(width * height) / 170)));
    const name = make("strong", {}, isRoomy ? title : shortened(title, size, across));
    name.style.fontSize = `${size.toFixed(2)}rem`;
    const isHidden = isRoomy ? textWidth(title, size) + FIGURE > width : isSmall || height < LOW;
    const also = item.others?.length && textWidth(title, size) + FIGURE + ALSO < width ? make("span", { class: "also" }, item.others.join(", ")) : null;
    const said = figures(item.said ?? [], isHidden ? 0 : across);
    const found = make("button", {
      type: "button",
      class: `tile ${kind}${isSmall ? " small" : ""}${isRoomy ? " roomy" : ""}${item.isFound ? " found" : ""}${item.isSeveral ? " several" : ""}`,
      "data-key": item.key,
      title: isRest || isRoomy ? null : [title, ...(item.others ?? [])].join(", "),
      "aria-current": item.isFound ? "true" : null,
    },
    ...(isRoomy ? [make("span", { class: "tile-head" }, name, also, ...said), this.inside(inside)]
      : [name, item.others?.length && !isSmall && height >= 84 ? make("span", { class: "others" }, item.others.join(", ")) : null, ...said]));
    found.addEventListener("click", () => this.open(item));
    lay(found, item);
    found.style.setProperty("--hue", String(item.hue ?? 240));
    return found;
  }

  // For eyes and pointers only; keys go from level to level.
  inside(tiles) {
    return make("span", { class: "inside", "aria-hidden": "true" }, tiles.map((item) => {
      const isRest = item.kind === "rest", title = isRest ? `+${item.items.length.toLocaleString("en")}` : item.title;
      const room = item.height - 5, across = item.width - 10;
      let size = fontSize(title, across, SMALLEST, 0.8, PLAIN);
      if (title.includes(" ") && room < 2 * LINE * size) size = Math.max(SMALLEST, Math.min(size, room / (2 * LINE))); // for two lines
      const words = make("span", {}, shortened(title, size, across, PLAIN));
      words.style.fontSize = `${size.toFixed(2)}rem`;
      words.style.webkitLineClamp = String(Math.max(1, Math.floor(room / (LINE * size) + 0.05)));
      const inner = make("span", { class: isRest ? "inner rest" : "inner", title: isRest ? null : [title, ...item.others].join(", ") }, words);
      if (item.hue !== undefined) inner.style.setProperty("--hue", String(item.hue));
      if (!isRest) {
        inner.addEventListener("click", (event) => {
          event.stopPropagation();
          this.open(item);
        });
      }
      lay(inner, { ...item, x: item.x + EDGE - 1, y: item.y + HEAD - 1 });
      return inner;
    }));
  }

  rectangleOf(tiles, key) {
    const found = tiles.find((tile) => tile.key === key);
    return found ? [found.x, found.y, found.width, found.height] : null;
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

// As many figures as there is room for; all of them for screen readers.
function figures(parts, room) {
  let n = parts.length;
  while (n > 0 && textWidth(parts.slice(0, n).join(", "), FIGURES, PLAIN) > room) n -= 1;
  const [shown, hidden] = [parts.slice(0, n), parts.slice(n)].map((some) => some.join(", "));
  return [shown ? make("span", { class: "n" }, shown) : null, hidden ? make("span", { class: "for-readers" }, hidden) : null];
}

function lay(element, { x, y, width, height }) {
  Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
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
  kind: "topic", key: `topic-${label}`, label, title: String(title(name)), value: Math.sqrt(1 + n), hue, isFound, isUnnamed: isCode(name),
  said: [count(n, "text"), ...(nSenses > 1 ? [count(nSenses, "meaning")] : [])], isSeveral: nSenses > 1,
});
