// Words that counted, marked behind the text that is typed.

import { find, make } from "./dom.js";

const STRENGTHS = 5;

export function begin() {
  const text = find("text");
  text.addEventListener("scroll", () => { find("backdrop").scrollTop = text.scrollTop; });
}

export function clear() {
  find("backdrop").replaceChildren();
}

export function show(text, contributions, spans) {
  find("backdrop").replaceChildren(...markedText(text, contributions, spans), "\n");
  find("backdrop").scrollTop = find("text").scrollTop;
}

// Amounts are shared out over the places of a word; where words overlap, amounts add up.
function markedText(text, contributions, spans) {
  const characters = Array.from(text); // as the server counts them
  const amountOf = new Map(contributions.map((word) => [word.feature, word.amount]));
  const own = spans.filter(([feature]) => amountOf.has(feature));
  const places = new Map();
  for (const [feature] of own) places.set(feature, (places.get(feature) ?? 0) + 1);
  const changes = new Map();
  const change = (at, by) => changes.set(at, (changes.get(at) ?? 0) + by);
  for (const [feature, start, end] of own) {
    const amount = amountOf.get(feature) / places.get(feature);
    change(start, amount);
    change(end, -amount);
  }
  const bounds = [...new Set([0, ...changes.keys(), characters.length])].sort((a, b) => a - b);
  let amount = 0;
  const pieces = bounds.slice(0, -1).map((start, i) => {
    amount += changes.get(start) ?? 0;
    return { text: characters.slice(start, bounds[i + 1]).join(""), amount };
  });
  const most = Math.max(...pieces.map((piece) => Math.abs(piece.amount)), 1e-9);
  return pieces.map((piece) => {
    const strength = Math.round((STRENGTHS * Math.abs(piece.amount)) / most);
    if (strength === 0 || piece.text.trim() === "") return document.createTextNode(piece.text);
    return make("mark", { class: `${piece.amount > 0 ? "for" : "against"} strength-${strength}` }, piece.text);
  });
}
