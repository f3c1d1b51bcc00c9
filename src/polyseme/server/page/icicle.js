// The tree of /v1/tree: where each node lies when clusters stand one after the other.

import { count } from "./dom.js";

export class Icicle {
  // The children of node j of a level are starts[level + 1][j] to starts[level + 1][j + 1] of the next.
  constructor({ starts, levels, links }) {
    this.children = starts;
    this.levels = levels;
    this.links = links;
    this.last = levels.length - 1;
    this.nClusters = levels[this.last].length;
    this.root = { level: -1, node: 0 };
    this.parents = starts.map((of) => of.slice(1).flatMap((end, parent) => Array(end - of[parent]).fill(parent)));
    // Where the nodes of each level start, counted in labels.
    const places = [0];
    for (const leaf of levels[this.last]) places.push(places.at(-1) + Math.max(1, leaf.n_labels));
    this.places = [places];
    for (const of of [...starts].reverse()) this.places.unshift(of.map((child) => this.places[0][child]));
  }

  n(level) {
    return level < 0 ? 1 : this.levels[level].length;
  }

  has({ level, node }) {
    return Number.isInteger(node) && level >= 0 && level <= this.last && node >= 0 && node < this.n(level);
  }

  parent({ level, node }) {
    return level <= 0 ? this.root : { level: level - 1, node: this.parents[level][node] };
  }

  firstChild({ level, node }) {
    if (level === this.last) return { level, node };
    const [first, end] = this.children[level + 1].slice(node, node + 2);
    return first < end ? { level: level + 1, node: first } : { level, node };
  }

  // From the root to a node.
  way(place) {
    const way = [place];
    while (way[0].level >= 0) way.unshift(this.parent(way[0]));
    return way;
  }

  range({ level, node }) {
    const places = this.places[level + 1];
    return [places[node], places[node + 1]];
  }

  // Numbers of the nodes of a level that lie in a range.
  between(level, from, to) {
    const nodes = [];
    for (let node = 0; node < this.n(level); node += 1) {
      const [start, end] = this.range({ level, node });
      if (start < to && end > from) nodes.push(node);
    }
    return nodes;
  }

  title({ level, node }) {
    if (level < 0) return "All";
    return level === this.last ? `Cluster ${node}` : `Part ${node}`;
  }

  // Words where they have names, else labels.
  caption({ level, node }) {
    const { words, labels } = this.levels[level][node];
    const named = words.filter((word) => typeof word === "string");
    return (named.length ? named : labels.map((label) => label.name)).join(", ");
  }

  described(place) {
    const { n_labels: n } = this.levels[place.level][place.node];
    return `${this.title(place)}, ${count(n, "label")}: ${this.caption(place)}`;
  }
}
