// Charts of the quality: a frame with axes in percent, and what is drawn into it.

import { draw, percent } from "./dom.js";
import { axisBottom, axisLeft, line, pointer, scaleBand, scaleLinear, select } from "./vendor/d3.js";

const LEFT = 46, RIGHT = 20, FURTHER_RIGHT = 40, TOP = 30, BOTTOM = 46, LINE = 15; // pixels
const WIDEST = 58; // of the captions of columns
const SHARES = [0, 0.25, 0.5, 0.75, 1];

export const text = ([x, y], anchor, words, kind = "") => draw("text", { x, y, "text-anchor": anchor, class: kind }, words);

// Shares from 0 to 1, both ways. What lies there is made by `inside`, which is told where shares are.
export function frame(attributes, titles, inside) {
  return picture(attributes, (width, height, shown) => {
    const across = scaleLinear([LEFT, width - (titles.right ? FURTHER_RIGHT : RIGHT)]), up = scaleLinear([height - BOTTOM, TOP]);
    const plane = {
      at: (x, y) => [across(x), up(y)],
      path: line(([x]) => across(x), ([, y]) => up(y)),
      placeOf: (event) => { const [x, y] = pointer(event, shown); return [across.invert(x), up.invert(y)]; },
    };
    // Both axes begin in the same corner, which needs one caption.
    const beside = inShares(axisLeft(up)).tickFormat((share) => (share ? percent(share) : ""));
    const beneath = inShares(axisBottom(across)).tickSize(up(1) - up(0));
    return [...axes(beside, beneath, titles, height), ...inside(plane).flat()];
  });
}

// Columns side by side, a group for each caption.
export function columns(attributes, titles, captions, series) {
  return picture(attributes, (width, height) => {
    const group = scaleBand(captions, [LEFT, width - RIGHT]).paddingInner(0.24).paddingOuter(0.12);
    const isTight = group.step() < WIDEST;
    const up = scaleLinear([height - BOTTOM - (isTight ? LINE : 0), TOP]);
    const place = scaleBand(series.keys(), [0, group.bandwidth()]);
    const column = (value, caption, which) => (value === null ? null : draw("rect",
      { x: group(caption) + place(which), y: up(value), width: place.bandwidth() - 1, height: up(0) - up(value) },
      draw("title", {}, percent(value, 1))));
    const [beside, beneath, ...words] = axes(inShares(axisLeft(up)), axisBottom(group).tickSize(0).tickPadding(9), titles, height);
    beneath.classList.toggle("tight", isTight);
    return [beside, beneath, ...words, ...series.map((values, which) => draw("g", { class: which ? "columns-of second" : "columns-of" },
      values.map((value, i) => column(value, captions[i], which))))];
  });
}

// Content is made for a size, and anew for another one, so that its text is as large as other text.
function picture(attributes, content) {
  const shown = draw("svg", { class: "chart", role: "img", ...attributes });
  new ResizeObserver(([{ contentRect: { width, height } }]) => {
    if (width > 0) shown.replaceChildren(...content(width, height, shown)); // what is hidden has no width
  }).observe(shown);
  return shown;
}

const inShares = (axis) => axis.tickValues(SHARES).tickFormat((share) => percent(share)).tickPadding(10);

function axes(beside, beneath, { x, y, right }, height) {
  const [from, to] = beneath.scale().range(), up = beside.scale();
  const axis = (made, place) => select(draw("g", { transform: `translate(${place})` })).call(made).node();
  return [
    axis(beside.tickSize(from - to), [from, 0]), axis(beneath, [0, up(0)]),
    text([(from + to) / 2, height - 6], "middle", x), text([6, 16], "start", y, "value"),
    ...(right ? [text([to + 8, 16], "start", right)] : []),
  ];
}
