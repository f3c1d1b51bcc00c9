// Charts of the quality: a frame with axes in percent, and what is drawn into it.

import { draw, percent } from "./dom.js";

const SIDE = { width: 460, height: 320, left: 44, bottom: 40, top: 30, right: 18 };
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const MANY = 7; // columns whose captions have room

export const at = (x, y) => [
  SIDE.left + x * (SIDE.width - SIDE.left - SIDE.right),
  SIDE.top + (1 - y) * (SIDE.height - SIDE.top - SIDE.bottom),
];

// Where in the frame, from 0 to 1, an event of a pointer is.
export function placeOf(picture, event) {
  const box = picture.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * SIDE.width, y = ((event.clientY - box.top) / box.height) * SIDE.height;
  return [(x - SIDE.left) / (SIDE.width - SIDE.left - SIDE.right), 1 - (y - SIDE.top) / (SIDE.height - SIDE.top - SIDE.bottom)];
}

export const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${at(x, y).map((one) => one.toFixed(1)).join(",")}`).join("");

export const text = ([x, y], anchor, words, kind = "") => draw("text", { x, y, "text-anchor": anchor, class: kind }, words);

export function frame(attributes, { x, y, ticks = TICKS }, ...content) {
  const line = (from, to) => draw("line", { class: "grid", x1: from[0], y1: from[1], x2: to[0], y2: to[1] });
  return draw("svg", { class: "chart", viewBox: `0 0 ${SIDE.width} ${SIDE.height}`, role: "img", ...attributes },
    TICKS.flatMap((tick) => [line(at(0, tick), at(1, tick)), text([SIDE.left - 6, at(0, tick)[1] + 4], "end", percent(tick))]),
    ticks.flatMap((tick) => [line(at(tick, 0), at(tick, 1)), text([at(tick, 0)[0], SIDE.height - SIDE.bottom + 16], "middle", percent(tick))]),
    text([at(0.5, 0)[0], SIDE.height - 5], "middle", x),
    text([6, 16], "start", y, "value"),
    ...content);
}

// Columns side by side, a group for each caption.
export function columns(attributes, { y }, captions, series) {
  const width = 1 / Math.max(1, captions.length), each = (0.76 * width) / series.length;
  return draw("svg", { class: "chart", viewBox: `0 0 ${SIDE.width} ${SIDE.height}`, role: "img", ...attributes },
    TICKS.flatMap((tick) => {
      const [from, to] = [at(0, tick), at(1, tick)];
      return [draw("line", { class: "grid", x1: from[0], y1: from[1], x2: to[0], y2: to[1] }), text([SIDE.left - 6, from[1] + 4], "end", percent(tick))];
    }),
    captions.map((caption, i) => text([at((i + 0.5) * width, 0)[0], SIDE.height - SIDE.bottom + 16], "middle", caption, captions.length > MANY ? "tight" : "")),
    series.flatMap((values, which) => values.map((value, i) => {
      if (value === null) return null;
      const [left, top] = at((i + 0.12) * width + which * each, value), [right, bottom] = at((i + 0.12) * width + (which + 1) * each, 0);
      return draw("rect", { class: which ? "columns-of second" : "columns-of", x: left, y: top, width: right - left - 1, height: Math.max(0, bottom - top) },
        draw("title", {}, percent(value, 1)));
    })),
    text([at(0.5, 0)[0], SIDE.height - 5], "middle", y));
}
