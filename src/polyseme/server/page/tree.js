// The tree of /v1/tree as areas of topics; an area is { level, node }, the whole has level -1.

const FIRST_HUE = 240, GOLDEN_ANGLE = 137.508; // steps of that angle never meet again soon

export class Tree {
  // The children of node j of a level are starts[level + 1][j] to starts[level + 1][j + 1] of the next.
  constructor({ starts, levels }) {
    this.starts = starts;
    this.levels = levels;
    this.last = levels.length - 1;
    this.root = { level: -1, node: 0 };
    this.parents = starts.map((of) => of.slice(1).flatMap((end, parent) => Array(end - of[parent]).fill(parent)));
    this.whole = this.entered(this.root);
  }

  has({ level, node }) {
    return level === -1 ? node === 0 : level >= 0 && level <= this.last && Number.isInteger(node) && node >= 0 && node < this.levels[level].length;
  }

  isWhole(place) {
    return same(place, this.whole);
  }

  isLast({ level }) {
    return level === this.last;
  }

  about({ level, node }) {
    return level < 0 ? null : this.levels[level][node];
  }

  above({ level, node }) {
    return { level: level - 1, node: this.parents[level][node] };
  }

  // What an area is chosen from.
  parent(place) {
    if (this.isWhole(place)) return place;
    const above = this.above(place);
    return this.children(above).length > 1 ? above : this.parent(above);
  }

  children({ level, node }) {
    if (level === this.last) return [];
    const [first, end] = this.starts[level + 1].slice(node, node + 2);
    return Array.from({ length: end - first }, (_, i) => ({ level: level + 1, node: first + i }));
  }

  // An area with a single one inside leaves nothing to choose, so that one takes its place.
  entered(place) {
    const inside = this.children(place);
    return inside.length === 1 ? this.entered(inside[0]) : place;
  }

  // From the whole to an area.
  way(place) {
    const way = [place];
    while (!this.isWhole(way[0])) way.unshift(this.parent(way[0]));
    return way;
  }

  nTopics(place) {
    return place.level < 0 ? this.levels[0].reduce((sum, one) => sum + one.n_labels, 0) : this.about(place).n_labels;
  }

  // How large an area is drawn: frequent topics count for more, but not by as much as they are more frequent.
  size(place) {
    return Math.sqrt(this.about(place).n_given + this.nTopics(place));
  }

  // An area is called by its topics; where it has none, by the words that lead there. What a larger area around it
  // is called does not tell it from its neighbours.
  names(place) {
    const { labels, words } = this.about(place);
    const found = labels.length ? labels.map((one) => String(one.name)) : words.map(String);
    const around = new Set(this.way(place).slice(1, -1).flatMap((larger) => this.called(larger)));
    const own = found.filter((name) => !around.has(name));
    return own.length ? own : found.length ? found : ["an area without topics"];
  }

  called(place) {
    return this.names(place).slice(0, 2);
  }

  title(place) {
    return this.isWhole(place) ? "All topics" : this.called(place).join(", ");
  }

  // The clusters below an area are first to end of all clusters.
  span({ level, node }) {
    let [first, end] = [node, node + 1];
    for (const starts of this.starts.slice(level + 1)) [first, end] = [starts[first], starts[end]];
    return [first, end];
  }

  // The largest areas are told apart by colour; those inside one have shades of it, in the order of the tree.
  hue(place) {
    if (this.isWhole(place)) return FIRST_HUE;
    let top = this.way(place)[1];
    while (top.level > this.whole.level + 1) top = this.above(top);
    const [first, end] = this.span(place), [from, to] = this.span(top);
    const offset = ((first + end) / 2 - from) / (to - from) - 0.5; // -0.5 to 0.5
    return (FIRST_HUE + GOLDEN_ANGLE * top.node + offset * Math.min(GOLDEN_ANGLE, 360 / this.children(this.whole).length) + 360) % 360;
  }

  // A few hues, from end to end, of what is in an area.
  hues(place, n = 5) {
    const [first, end] = this.span(place);
    return Array.from({ length: n }, (_, i) => this.hue({ level: this.last, node: Math.floor(first + ((i + 0.5) * (end - first)) / n) }));
  }
}

export const same = (a, b) => a.level === b.level && a.node === b.node;

const WHOLE = "all";

// In an address: an area of the last level is its number, another one its level and number.
export const addressOf = (tree, place) => (tree.isWhole(place) ? WHOLE : tree.isLast(place) ? String(place.node) : `${place.level}.${place.node}`);

export function placeAt(tree, address) {
  if (address === "" || address === WHOLE) return tree.whole;
  const parts = address.split(".").map(Number);
  const place = parts.length === 2 ? { level: parts[0], node: parts[1] } : { level: tree.last, node: parts[0] };
  return tree.has(place) ? tree.entered(place) : null;
}
