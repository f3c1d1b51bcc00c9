// The tree of /v1/tree: where each node lies when clusters stand one after the other.

import { count } from "./dom.js";

export class Icicle {
  constructor({ fan_outs: fanOuts, levels, links }) {
    this.fanOuts = fanOuts;
    this.levels = levels;
    this.links = links;
    this.last = levels.length - 1;
    this.nClusters = levels[this.last].length;
    this.root = { level: -1, node: 0 };
    this.starts = [0]; // of each cluster, counted in labels
    for (const leaf of levels[this.last]) this.starts.push(this.starts.at(-1) + Math.max(1, leaf.n_labels));
  }

  n(level) {
    return level < 0 ? 1 : this.levels[level].length;
  }

  has({ level, node }) {
    return Number.isInteger(node) && level >= 0 && level <= this.last && node >= 0 && node < this.n(level);
  }

  parent({ level, node }) {
    return level <= 0 ? this.root : { level: level - 1, node: Math.floor(node / this.fanOuts[level]) };
  }

  firstChild({ level, node }) {
    return level === this.last ? { level, node } : { level: level + 1, node: node * this.fanOuts[level + 1] };
  }

  // From the root to a node.
  way(place) {
    const way = [place];
    while (way[0].level >= 0) way.unshift(this.parent(way[0]));
    return way;
  }

  range({ level, node }) {
    const below = this.nClusters / this.n(level);
    return [this.starts[node * below], this.starts[(node + 1) * below]];
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
