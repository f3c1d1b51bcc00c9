// Precision and recall as the threshold moves: a curve with a handle to drag, and the figures there.

import { frame, text } from "./chart.js";
import { count, draw, make, percent } from "./dom.js";

const LEVELS = [0.2, 0.4, 0.6, 0.8]; // of F1
const LINE = 15, WIDE = 96; // pixels, of a note
const BEFORE = { start: 0, middle: WIDE / 2, end: WIDE };
const DIAMOND = "M0-8 8 0 0 8-8 0Z";

export function thresholdCard({ threshold: own, by_threshold: curve }) {
  if (!own) return [];
  const nOwn = own.n_labels_with_own ?? 0;
  const aim = own.wanted_precision == null ? "the best F1" : `${percent(own.wanted_precision)} precision`;
  const name = `threshold${nOwn ? ` of all but ${count(nOwn, "topic")}` : ""}, chosen for ${aim}`;
  const others = nOwn ? [make("p", { class: "quiet", id: "own-thresholds" },
    `${count(nOwn, "topic")} ${nOwn === 1 ? "has a threshold of its own" : "have thresholds of their own"}. `,
    curve ? "The curve has one threshold for all topics, so the model’s own place (◆) need not lie on it." : null)] : [];
  if (!curve) return [figures(own, name), ...others];
  // Of thresholds that nothing passes there is no precision.
  const last = Math.max(1, curve.recall.findLastIndex((recall) => recall > 0));
  const rows = curve.threshold.slice(0, last + 1).map((_, i) =>
    Object.fromEntries(Object.entries(curve).map(([title, column]) => [title, column[i]])));
  const ownStep = Math.min(last, Math.round(100 * own.threshold)); // may lie between two steps of the slider
  let shown = own, plane = null;

  const place = make("div");
  const handle = draw("g", { class: "handle" }, draw("circle", { class: "reach", r: 22 }), draw("circle", { r: 9 }));
  const note = draw("g", { class: "note" });
  const picture = frame({ class: "chart draggable", id: "precision-recall",
    "aria-label": "Precision and recall at each threshold; the slider moves along the curve" },
    { x: "recall: right topics that are found", y: "precision: suggestions that are right", right: "F1" },
    (drawn) => {
      plane = drawn;
      follow();
      return [
        LEVELS.map((f1) => draw("path", { class: "level", d: plane.path(level(f1)) })),
        LEVELS.map((f1) => { const [x, y] = plane.at(1, f1 / (2 - f1)); return text([x + 8, y + 4], "start", percent(f1)); }),
        draw("path", { class: "curve", d: plane.path(rows.map((row) => [row.recall, row.precision])) }),
        draw("path", { class: "own", d: DIAMOND, transform: `translate(${placeOf(own)})` }, draw("title", {}, "the model as it is")),
        note, handle];
    });
  const slider = make("input", { type: "range", min: 0, max: last, step: 1, id: "cut-at", "aria-label": "Threshold" });
  const back = make("button", { type: "button", class: "bare", onclick: () => { show(own, ownStep); slider.focus(); } },
    make("span", { "aria-hidden": "true" }, "◆ "), nOwn ? "back to the model’s own" : `back to ${percent(own.threshold)}`);

  const placeOf = (row) => plane.at(row.recall, row.precision);
  function follow() {
    // With thresholds of topics, the model has no place on the curve.
    handle.setAttribute("transform", `translate(${placeOf(shown === own && nOwn ? rows[ownStep] : shown)})`);
    const title = shown === own && nOwn ? "the model’s own" : `threshold ${percent(shown.threshold)}`;
    note.replaceChildren(...beside(shown, [...rows, own], plane,
      [title, `precision ${percent(shown.precision)}`, `recall ${percent(shown.recall)}`]));
  }
  function show(row, step) {
    shown = row;
    slider.value = step;
    slider.setAttribute("aria-valuetext", percent(row.threshold));
    place.replaceChildren(figures(row, row === own ? name : "threshold"));
    back.style.visibility = row === own ? "hidden" : "";
    if (plane) follow();
  }
  const showNearest = (event) => {
    const [x, y] = plane.placeOf(event);
    const distance = ({ recall, precision }) => (recall - x) ** 2 + (precision - y) ** 2;
    const step = rows.reduce((best, row, i) => (distance(row) < distance(rows[best]) ? i : best), 0);
    show(rows[step], step);
  };
  picture.addEventListener("click", showNearest);
  // Only the handle is dragged: a finger elsewhere scrolls. In Chromium, parts of a picture have no touch-action.
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
  handle.addEventListener("pointermove", (event) => handle.hasPointerCapture(event.pointerId) && showNearest(event));
  slider.addEventListener("input", () => show(rows[slider.value], slider.value));
  show(own, ownStep);
  return [make("div", { class: "two threshold" },
    make("div", {}, place, ...others, make("label", { class: "quiet", for: "cut-at" }, "Drag the threshold to see what it does:"), slider, back),
    make("div", {}, picture))];
}

// Lines beside a place, where they fit and cover least of the others.
function beside(row, others, { at }, lines) {
  const [x, y] = at(row.recall, row.precision), [left, bottom] = at(0, 0), [right, top] = at(1, 1);
  const inside = (first) => Math.max(top + LINE, Math.min(bottom - (lines.length - 0.5) * LINE, first));
  const places = [["start", 16, -2], ["end", -16, 1], ["start", 16, 1], ["end", -16, -2], ["middle", 0, 2]]
    .map(([anchor, aside, further]) => ({ anchor, aside, from: x + aside - BEFORE[anchor], first: inside(y + further * LINE) }));
  const sticksOut = ({ from }) => from < left || from + WIDE > right;
  const covered = ({ from, first }) => others.map((other) => at(other.recall, other.precision)).filter(([a, b]) =>
    a > from && a < from + WIDE && b > first - LINE && b < first + lines.length * LINE).length;
  const cost = (one) => covered(one) + (sticksOut(one) ? others.length : 0);
  const { anchor, aside, first } = places.reduce((best, one) => (cost(one) < cost(best) ? one : best));
  return lines.map((words, i) => text([x + aside, first + i * LINE], anchor, words, i ? "" : "value"));
}

function figures({ threshold, precision, recall, f1, labels_per_document: n, without_label: without }, name) {
  const big = (value, words) => make("div", { class: "big" }, make("strong", {}, value), make("span", {}, words));
  const isWhole = Number.isInteger(Math.round(1e4 * threshold) / 100);
  return make("div", { class: "figures", id: "figures" },
    big(percent(threshold, isWhole ? 0 : 1), name),
    big(percent(f1, 1), "F1, the balance of precision and recall"),
    big(percent(precision, 1), "precision: suggested topics that are right"),
    big(percent(recall, 1), "recall: right topics that are found"),
    big(n.toFixed(1), "topics per text"),
    without === undefined ? null : big(percent(without, 1), "of the texts get no topic"));
}

// Where F1 is the same, from full precision to full recall, with as many points on both sides of the bend.
function level(f1) {
  const most = Math.log(2 / f1 - 1), of = (t) => (f1 / 2) * (1 + Math.exp(t));
  return Array.from({ length: 41 }, (_, i) => most * (i / 20 - 1)).map((t) => [of(t), of(-t)]);
}
