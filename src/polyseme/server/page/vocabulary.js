// What a vocabulary says of a topic: other names, notations, and what is broader and narrower.

import { make, topicChip } from "./dom.js";

const MOST_NARROWER = 30;

export function inVocabulary({ other_names: others, notations, broader, narrower }) {
  const names = [...(others.length ? [`Also called ${others.join(", ")}.`] : []), ...(notations.length ? [`Notation ${notations.join(", ")}.`] : [])];
  const related = [["Broader", broader], ["Narrower", narrower]].filter(([, all]) => all.length);
  return [
    ...(names.length ? [make("p", { class: "quiet", id: "other-names" }, names.join(" "))] : []),
    ...(related.length ? [make("dl", { class: "related" }, related.flatMap(([title, all]) => [make("dt", {}, title), make("dd", {}, concepts(all))]))] : []),
  ];
}

// A concept that no training text has is no topic of the model, so that nothing more can be said of it.
function concepts(all) {
  const items = all.map((one) => make("li", {}, one.label === null ? make("span", { class: "chip", title: "no training text has it" }, one.name ?? one.uri) : topicChip(one)));
  const rest = items.slice(MOST_NARROWER);
  const list = make("ul", { class: "plain chips" }, items.slice(0, MOST_NARROWER));
  if (rest.length) list.append(make("li", {}, make("button", { type: "button", class: "chip bare", onclick: (event) => event.currentTarget.parentElement.replaceWith(...rest) }, `+${rest.length}`)));
  return list;
}
