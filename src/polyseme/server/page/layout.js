// Where tiles lie: a treemap whose small tiles are merged into one; and how large, and where, names are written.

import { hierarchy, treemap, treemapSquarify } from "./vendor/d3.js";

const REST = 1.3; // tiles that the merged ones take the room of
const GAP = 2;

// The largest first, but what has a name that says something before what has none.
export const ordered = (items) => [...items].sort((a, b) => Boolean(a.isUnnamed) - Boolean(b.isUnnamed) || b.value - a.value);

// Keep as many items, in their order, as get `least` pixels. What was searched is always kept.
export function merged(items, area, least) {
  const [sought] = items.filter((one) => one.isFound);
  const sorted = ordered(items.filter((one) => one !== sought));
  const sums = [0], smallest = [Infinity];
  for (const { value } of sorted) {
    sums.push(sums.at(-1) + value);
    smallest.push(Math.min(smallest.at(-1), value));
  }
  const kept = (n) => (sought ? [{ ...sought, value: Math.max(sought.value, n ? smallest[n] : 0) }] : []);
  const fits = (n) => {
    const rest = n < sorted.length ? REST * smallest[n] : 0;
    return (smallest[n] / (sums[n] + rest + (kept(n)[0]?.value ?? 0))) * area >= least;
  };
  let n = sorted.length;
  while (n > 1 && !fits(n)) n -= 1;
  if (sorted.length - n === 1) n = sorted.length; // one alone is not worth merging
  const shown = [...kept(n), ...sorted.slice(0, n)];
  return n === sorted.length ? shown : [...shown, { kind: "rest", key: "rest", after: n, items: sorted.slice(n), value: REST * smallest[n] }];
}

// Tiles are about `wider` times as wide as high, since names are written on them.
export function laidOut(items, width, height, { least, wider }) {
  const isRest = ({ data }) => data.kind === "rest";
  const root = hierarchy({ children: merged(items, width * height, least) }).sum((one) => one.value ?? 0)
    .sort((a, b) => isRest(a) - isRest(b) || b.value - a.value);
  treemap().tile(treemapSquarify.ratio(1.2)).size([width + GAP, wider * (height + GAP)])(root);
  return (root.children ?? []).map(({ data, x0, y0, x1, y1 }) => ({
    ...data, x: x0, y: y0 / wider, width: Math.max(1, x1 - x0 - GAP), height: Math.max(1, (y1 - y0) / wider - GAP),
  }));
}

export const TITLE = "650 16px system-ui, sans-serif", PLAIN = "16px system-ui, sans-serif";
const context = document.createElement("canvas").getContext("2d");

export function textWidth(words, size, font = TITLE) {
  context.font = font;
  return size * context.measureText(words).width;
}

// The size, in rem, at which no word has to be broken, between a least one and the wanted one.
export function fontSize(words, width, least, wanted, font = TITLE) {
  const longest = Math.max(...words.split(/[\s/-]+/).map((word) => textWidth(word, 1.03, font)));
  return Math.max(least, Math.min(wanted, width / longest));
}

// A word that is wider than its tile is cut at the end: broken anywhere, as "interdepende nce", it would be hard to read.
export const shortened = (words, size, width, font = TITLE) => words.replace(/[^\s/-]+/g, (word) => {
  const fits = (part) => textWidth(part, size, font) <= width;
  if (fits(word)) return word;
  let n = word.length - 1;
  while (n > 1 && !fits(`${word.slice(0, n)}…`)) n -= 1;
  return `${word.slice(0, n)}…`;
});

const ABOVE = 12, BELOW = 5, LINE = ABOVE + BELOW; // pixels above and below the foot of a caption's letters

// The room for captions on a picture: what is taken stays free of others.
export class Room {
  constructor(width, height) {
    [this.width, this.height] = [width, height];
    this.taken = [];
  }

  take(left, top, right, bottom) {
    this.taken.push([left, top, right, bottom]);
  }

  isFree(left, top, right, bottom) {
    return !this.taken.some((box) => left < box[2] && right > box[0] && top < box[3] && bottom > box[1]);
  }

  // Take the first free one of spots for a caption, [x, y]s of the middle of its foot; null if none is free.
  place(half, spots) {
    for (const [wanted, y] of spots) {
      const x = Math.max(half, Math.min(this.width - half, wanted)); // whole names, also at the edge
      const box = [x - half, y - ABOVE, x + half, y + BELOW];
      if (box[1] < 0 || box[3] > this.height || !this.isFree(...box)) continue;
      this.take(...box);
      return [x, y];
    }
    return null;
  }
}

// Spots for the caption of a circle, the nearest first: above, below, beside it, and further away.
export function spotsAround(x, y, radius, half) {
  const beside = [[x + radius + half, y + BELOW], [x - radius - half, y + BELOW]];
  const lines = [0, 1, 2, 3].map((n) => [[x, y - radius - BELOW - n * LINE], [x, y + radius + ABOVE + n * LINE]]);
  return [...lines[0], ...beside, ...lines.slice(1).flat()];
}
