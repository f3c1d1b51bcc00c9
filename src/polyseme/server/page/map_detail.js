// What is said beside the map about the chosen area or topic.

import { address, chosen, get, latestOnly } from "./api.js";
import { count, find, isCode, make, percent, title, topicList } from "./dom.js";
import { addressOf } from "./tree.js";

const MOST_TOPICS = 40, MOST_AMBIGUOUS = 14, MOST_COLOURS = 6;
let run, goToTopic;

export function begin(told) {
  run = latestOnly(told.showProblem);
  ({ goToTopic } = told);
  // For phones, where a part of a topic's card stays in sight; see map.css.
  new ResizeObserver(() => find("map-detail").style.setProperty("--height", `${find("map-detail").offsetHeight}px`)).observe(find("map-detail"));
}

export function clear() {
  run(async () => find("map-detail").replaceChildren());
}

function put(...content) {
  find("map-detail").classList.remove("about-topic");
  find("map-detail").replaceChildren(...content.filter(Boolean));
}

export function show(tree, place, label) {
  if (label !== null) {
    showTopic(tree, label, "areas");
    return;
  }
  run(async (signal, isCurrent) => {
    if (tree.isWhole(place) && !tree.isLast(place)) {
      await sayAll(signal, isCurrent,
        make("p", { class: "quiet" }, `${count(tree.children(place).length, "area")}${tree.last > place.level + 1 ? ` with ${count(tree.levels[tree.last].length, "smaller one")}` : ""}. ` +
          "An area is called by its topics, and is as large as they are frequent. A topic may be in several areas."),
        make("p", { class: "quiet keys" }, "Arrow keys walk from tile to tile, Enter goes in, Escape goes back out."));
      return;
    }
    const { words, labels, n_labels: n } = tree.about(place);
    const say = (inside) => put(make("h3", {}, tree.title(place)),
      make("p", { class: "quiet" }, `${count(n, "topic")}${tree.isLast(place) ? "" : ` in ${count(tree.children(place).length, "area")}`}.`),
      tree.isWhole(place) ? null : make("h4", {}, "Words that lead here"),
      tree.isWhole(place) ? null : words.length ? make("ul", { class: "plain chips" }, words.map((word) => make("li", {}, make("span", { class: "chip" }, word)))) : make("p", { class: "quiet" }, "None are known."),
      make("h4", {}, n > inside.length ? "Some of its topics" : "Its topics"), topicList(inside));
    say(labels);
    if (!tree.isLast(place)) return;
    const answer = await get(`clusters/${place.node}`, { limit: MOST_TOPICS }, signal);
    if (isCurrent()) say(answer.labels);
  });
}

// Where nothing is chosen, topics that lie in several places are worth a visit.
async function sayAll(signal, isCurrent, ...content) {
  put(make("h3", {}, "All topics"), ...content);
  if (!chosen.senses?.n_ambiguous_labels) return;
  const { labels } = await get("labels", { order: "ambiguity", limit: MOST_AMBIGUOUS }, signal);
  const named = labels.filter((one) => one.n_senses > 1 && !isCode(one.name));
  if (!isCurrent() || named.length === 0) return;
  find("map-detail").append(make("h4", {}, "Topics with several meanings"),
    make("ul", { class: "plain chips" }, named.map((one) => make("li", {},
      make("button", { type: "button", class: "chip", onclick: () => goToTopic(one.label) }, one.name)))));
}

export function showCloud(tree, n, isAll) {
  run((signal, isCurrent) => sayAll(signal, isCurrent,
    make("p", { class: "quiet" }, `${isAll ? "All" : "The"} ${n.toLocaleString("en")} ${isAll ? "" : "most frequent "}topics, coloured by area. Names are those of the most frequent ones in sight.`),
    make("p", { class: "quiet" }, "Choose a point to see its meanings, joined to it by lines."),
    ...colours(tree)));
}

// Areas in an area have shades of its colour, so a colour is shown from end to end.
function colours(tree) {
  const areas = tree.children(tree.whole);
  if (areas.length === 0) return [];
  const largest = [...areas].sort((a, b) => tree.size(b) - tree.size(a)).slice(0, MOST_COLOURS);
  return [make("h4", {}, areas.length > largest.length ? "Colours of the largest areas" : "Colours of the areas"),
    make("ul", { class: "plain" }, largest.map((area) => {
      const colour = make("span", { class: "colour" });
      colour.style.background = `linear-gradient(90deg, ${tree.hues(area).map((hue) => `hsl(${hue} 55% 55%)`)})`;
      return make("li", {}, colour, make("a", { href: address(`map/${addressOf(tree, tree.entered(area))}`) }, tree.title(area)));
    }))];
}

export function showTopic(tree, number, kind) {
  run(async (signal, isCurrent) => {
    const topic = await get(`labels/${number}`, {}, signal);
    if (!isCurrent()) return;
    const { label, name, senses, slots } = topic;
    const beside = [...topic.labels, ...senses.flatMap((sense) => sense.labels)];
    const goesWith = [...new Map(beside.map((one) => [one.label, one])).values()];
    put(make("h3", { dir: "auto" }, title(name)),
      make("p", { class: "quiet" }, `${count(topic.n_documents, "training text")}. `, make("a", { href: address(`meanings/${label}`) }, "All about it")),
      senses.length ? make("h4", {}, "Its meanings") : null,
      senses.length ? make("ul", { class: "plain" }, senses.map((sense, i) => make("li", {},
        make("a", { href: address(`map/cloud/${label}/${i}`), dir: "auto" }, sense.name || "another meaning"), make("span", { class: "quiet" }, `, ${percent(sense.share)}`)))) : null,
      make("h4", {}, slots.length > 1 ? "It is in these areas" : "It is in this area"),
      make("ul", { class: "plain" }, slots.map(({ cluster, share }) => make("li", {},
        make("a", { href: address(`map/${cluster}/${label}`) }, tree.title({ level: tree.last, node: cluster })),
        make("span", { class: "quiet" }, `, ${percent(Math.min(1, share))} of its texts`)))),
      kind === "areas" ? make("p", {}, make("a", { href: address(`map/cloud/${label}`) }, "Show it in the cloud")) : null,
      ...(goesWith.length ? [make("h4", {}, "Goes with"), topicList(goesWith)]
        : slots[0]?.neighbours.length ? [make("h4", {}, "In the same area"), topicList(slots[0].neighbours)] : []));
    find("map-detail").classList.add("about-topic");
  });
}
