// Words that counted, marked behind the text that is typed.

import { find } from "./dom.js";

const STRENGTHS = 5;
const KINDS = ["for", "against"].flatMap((kind) => Array.from({ length: STRENGTHS }, (_, i) => `${kind}-${i + 1}`));

export function begin() {
  const text = find("text");
  text.addEventListener("scroll", () => { find("backdrop").scrollTop = text.scrollTop; });
}

export function clear() {
  for (const kind of KINDS) CSS.highlights?.delete(kind);
  find("backdrop").replaceChildren();
}

// Highlights leave the text in one piece: cut into elements, it could break into other lines than what is typed.
export function show(text, contributions, spans) {
  clear();
  const whole = document.createTextNode(`${text}\n`);
  find("backdrop").replaceChildren(whole);
  find("backdrop").scrollTop = find("text").scrollTop;
  if (!CSS.highlights) return; // words are listed all the same
  const found = new Map();
  for (const { start, end, kind } of marksOf(text, contributions, spans)) {
    const range = new StaticRange({ startContainer: whole, startOffset: start, endContainer: whole, endOffset: end });
    found.set(kind, [...found.get(kind) ?? [], range]);
  }
  for (const [kind, ranges] of found) CSS.highlights.set(kind, new Highlight(...ranges));
}

// Amounts are shared out over the places of a word; where words overlap, amounts add up.
function marksOf(text, contributions, spans) {
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
  let amount = 0, end = 0;
  const pieces = bounds.slice(0, -1).map((first, i) => {
    const piece = characters.slice(first, bounds[i + 1]).join(""), start = end;
    amount += changes.get(first) ?? 0;
    end += piece.length;
    return { start, end, amount, isBlank: piece.trim() === "" };
  });
  const most = Math.max(...pieces.map((piece) => Math.abs(piece.amount)), 1e-9);
  return pieces.flatMap((piece) => {
    const strength = Math.round((STRENGTHS * Math.abs(piece.amount)) / most);
    return strength === 0 || piece.isBlank ? [] : [{ ...piece, kind: `${piece.amount > 0 ? "for" : "against"}-${strength}` }];
  });
}
