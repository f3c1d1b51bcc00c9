// Charts of the quality: a frame with axes in percent, and what is drawn into it.

import { draw, percent } from "./dom.js";
import { axisBottom, axisLeft, line, pointer, scaleBand, scaleLinear, select } from "./vendor/d3.js";

const WIDTH = 460, HEIGHT = 320, LEFT = 44, BOTTOM = 40, TOP = 30, RIGHT = 18;
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const MANY = 7; // columns whose captions have room

const across = scaleLinear([LEFT, WIDTH - RIGHT]), up = scaleLinear([HEIGHT - BOTTOM, TOP]);

export const at = (x, y) => [across(x), up(y)];

export const path = line(([x]) => across(x), ([, y]) => up(y));

export const text = ([x, y], anchor, words, kind = "") => draw("text", { x, y, "text-anchor": anchor, class: kind }, words);

// Where in the frame, from 0 to 1, an event of a pointer is.
export function placeOf(picture, event) {
  const [x, y] = pointer(event, picture);
  return [across.invert(x), up.invert(y)];
}

export function frame(attributes, titles, ...content) {
  return chart(attributes, titles, inShares(axisBottom(across)).tickSize(up(1) - up(0)), ...content);
}

// Columns side by side, a group for each caption.
export function columns(attributes, titles, captions, series) {
  const group = scaleBand(captions, across.range()).paddingInner(0.24).paddingOuter(0.12);
  const place = scaleBand(series.keys(), [0, group.bandwidth()]);
  const column = (value, caption, which) => (value === null ? null : draw("rect",
    { x: group(caption) + place(which), y: up(value), width: place.bandwidth() - 1, height: up(0) - up(value) },
    draw("title", {}, percent(value, 1))));
  return chart(attributes, titles, axisBottom(group).tickSize(0).tickPadding(9),
    series.map((values, which) => draw("g", { class: which ? "columns-of second" : "columns-of" },
      values.map((value, i) => column(value, captions[i], which)))));
}

const inShares = (axis) => axis.tickValues(SHARES).tickFormat((share) => percent(share)).tickPadding(6);

function chart(attributes, { x, y }, beneath, ...content) {
  const picture = draw("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", ...attributes });
  const axes = select(picture);
  axes.append("g").attr("transform", `translate(${LEFT},0)`).call(inShares(axisLeft(up)).tickSize(across(0) - across(1)));
  axes.append("g").attr("transform", `translate(0,${up(0)})`).call(beneath)
    .classed("tight", beneath.scale().domain().length > MANY);
  picture.append(text([across(0.5), HEIGHT - 5], "middle", x), text([6, 16], "start", y ?? "", "value"), ...content.flat());
  return picture;
}
