// Elements are made here. Strings become text nodes, so nothing that a model or a user says is markup.

import { address } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";
const LONG_NAME = 80; // chips may not have room for all of it

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null).map((child) =>
    child instanceof Node ? child : String(child)));
  return element;
}

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const find = (id) => document.getElementById(id);

export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

// Topics of a model without names are numbers.
export const title = (name) => (typeof name === "number" ? `Topic ${name}` : name);

// Whether a name says nothing to people, as "gnd:4020588-5" does; the server knows these alike.
export function isCode(name) {
  if (typeof name !== "string" || name.includes("://")) return true;
  const own = name.replace(/^\w+:(?=\S)/, "");
  return (own.match(/\d/g)?.length ?? 0) >= 3 && !/\p{L}{2}/u.test(own);
}

// Nothing is ever quite sure.
export const sure = (share) => (share > 0.99 ? "over 99% sure" : `${percent(share)} sure`);

// What classifiers give is no probability, so it is never shown in percent.
export const score = (value) =>
  `score ${value === 0 || Math.abs(value) >= 0.01 ? value.toFixed(2) : value.toPrecision(1)}`;

// A bar beside a figure. The figure says it all, so the bar is hidden from screen readers.
export function bar(share) {
  const inner = make("span", { class: "bar-inner" });
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, inner);
}

export const topicChip = ({ label, name }, kind = "") =>
  make("a", { class: `chip ${kind}`, dir: "auto", href: address(`meanings/${label}`), title: name?.length > LONG_NAME ? name : null }, name);

// Topics without a name that says something wait behind a button, unless there are no others.
export function topicList(labels, kind = () => "") {
  const list = (some) => make("ul", { class: "plain chips" }, some.map((one) => make("li", {}, topicChip(one, kind(one)))));
  const named = labels.filter((one) => !isCode(one.name)), others = labels.filter((one) => isCode(one.name));
  if (named.length === 0 || others.length < 2) return list(labels);
  const found = list(named);
  const more = make("li", {}, make("button", { type: "button", class: "chip bare", onclick: () => {
    const shown = [...list(others).children];
    more.replaceWith(...shown);
    shown[0].querySelector("a").focus({ preventScroll: true });
  } }, `+${others.length} without a name`));
  found.append(more);
  return found;
}

export const busy = (words) => make("p", { class: "busy", role: "status" }, words);

export const isNarrow = () => matchMedia("(max-width: 59.99rem)").matches;
export const isTouched = () => matchMedia("(hover: none)").matches;
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function table(caption, head, rows) {
  return make("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, head.map((cell) => make("th", { scope: "col" }, cell)))),
      make("tbody", {}, rows.map(([first, ...others]) => make("tr", {},
        make("th", { scope: "row" }, first),
        others.map((cell) => make("td", {}, cell)))))));
}
