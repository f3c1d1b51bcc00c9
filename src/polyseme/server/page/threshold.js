// Precision and recall as the threshold moves: a curve with a handle to drag, and the figures there.

import { at, frame, path, placeOf, text } from "./chart.js";
import { draw, make, percent } from "./dom.js";

const LEVELS = [0.2, 0.4, 0.6, 0.8]; // of F1

export function thresholdCard({ threshold: own, by_threshold: curve }) {
  if (!own) return [];
  const name = `threshold, chosen for ${own.wanted_precision == null ? "the best F1" : `${percent(own.wanted_precision)} precision`}`;
  if (!curve) return [figures(own, name)];
  // Of thresholds that nothing passes there is no precision.
  const last = Math.max(1, curve.recall.findLastIndex((recall) => recall > 0));
  const place = make("div");
  const handle = draw("circle", { class: "handle", r: 9 });
  const points = curve.threshold.slice(0, last + 1).map((_, i) => [curve.recall[i], curve.precision[i]]);
  const picture = frame({ class: "chart draggable", id: "precision-recall", "aria-label": "Precision and recall at each threshold; the slider moves along the curve" },
    { x: "recall: right topics that are found", y: "precision: suggestions that are right" },
    LEVELS.map((f1) => draw("path", { class: "level", d: path(level(f1)) })),
    LEVELS.map((f1) => { const [x, y] = at(1, f1 / (2 - f1)); return text([x - 3, y - 4], "end", `F1 ${percent(f1)}`, "tight"); }),
    draw("path", { class: "curve", d: path(points) }), handle);
  const slider = make("input", { type: "range", min: 0, max: last, step: 1, id: "cut-at", "aria-label": "Threshold" });
  const back = make("button", { type: "button", class: "bare", onclick: () => showOwn() }, `back to ${percent(own.threshold)}`);

  const select = (i) => show(Object.fromEntries(Object.entries(curve).map(([name, column]) => [name, column[i]])), i);
  // The model's own threshold may lie between two steps of the slider.
  const showOwn = () => show(own, Math.min(last, Math.round(100 * own.threshold)));
  function show(row, i) {
    slider.value = i;
    slider.setAttribute("aria-valuetext", percent(row.threshold));
    const [x, y] = at(row.recall, row.precision);
    handle.setAttribute("cx", x);
    handle.setAttribute("cy", y);
    place.replaceChildren(figures(row, row === own ? name : "threshold"));
    back.style.visibility = row === own ? "hidden" : "";
  }
  const drag = (event) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    if (event.type === "pointerdown") picture.setPointerCapture(event.pointerId);
    const [x, y] = placeOf(picture, event);
    const distance = ([recall, precision]) => (recall - x) ** 2 + (precision - y) ** 2;
    select(points.reduce((best, point, i) => (distance(point) < distance(points[best]) ? i : best), 0));
  };
  picture.addEventListener("pointerdown", drag);
  picture.addEventListener("pointermove", drag);
  slider.addEventListener("input", () => select(Number(slider.value)));
  showOwn();
  return [make("div", { class: "two threshold" },
    make("div", {}, place, make("label", { class: "quiet", for: "cut-at" }, "Drag the threshold to see what it does:"), slider, back),
    make("div", {}, picture))];
}

function figures({ threshold, precision, recall, f1, labels_per_document: n, without_label: without }, name) {
  const big = (value, words) => make("div", { class: "big" }, make("strong", {}, value), make("span", {}, words));
  return make("div", { class: "figures", id: "figures" },
    big(percent(threshold, Number.isInteger(Math.round(1e4 * threshold) / 100) ? 0 : 1), name), big(percent(f1, 1), "F1"), big(percent(precision, 1), "precision: suggested topics that are right"),
    big(percent(recall, 1), "recall: right topics that are found"), big(n.toFixed(1), "topics per text"),
    without === undefined ? null : big(percent(without, 1), "of the texts get no topic"));
}

// Where F1 is the same, from full precision to full recall, with as many points on both sides of the bend.
function level(f1) {
  const most = Math.log(2 / f1 - 1), of = (t) => (f1 / 2) * (1 + Math.exp(t));
  return Array.from({ length: 41 }, (_, i) => most * (i / 20 - 1)).map((t) => [of(t), of(-t)]);
}
