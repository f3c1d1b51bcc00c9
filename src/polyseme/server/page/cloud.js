// The cloud: every topic is a point, and topics that words speak for alike lie near each other.

import { isCode, isNarrow, isStill, make, title } from "./dom.js";
import { Room, spotsAround } from "./layout.js";
import { quadtree, select, zoom, zoomIdentity } from "./vendor/d3.js";

const MOST_CIRCLES = 2000; // points in sight from which on pixels are drawn instead
const MOST_CAPTIONS = 60, SCANNED = 20_000;
const MOST_ZOOM = 400, REACH = 14, EDGE = 0.94;
const STEPS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }, STRIDE = 60; // pixels
const ZOOMS = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };
const PLAIN = "12.5px system-ui, sans-serif", CHOSEN = "600 14px system-ui, sans-serif";
const CIRCLE = 9, DOT = 6, HINT_SECONDS = 1.5, CARD = 176; // what map.css leaves of the card
const CLOSE = 14, IN_SIGHT = 60; // how near a flight goes, and how many topics stay in sight

export class Cloud {
  constructor(place, plane, { pick, hueOf }) {
    this.plane = plane;
    this.hueOf = hueOf;
    this.pick = pick;
    this.n = plane.labels.length;
    this.indexOf = new Map(plane.labels.map((label, i) => [label, i]));
    this.x = Float32Array.from(plane.x);
    this.y = Float32Array.from(plane.y);
    const all = Array.from({ length: this.n }, (_, i) => i), readable = all.filter((i) => !isCode(plane.names[i]));
    this.named = readable.length ? readable : all;
    this.chosen = this.meaning = null;
    this.isMoving = false;
    this.widths = new Map();
    this.transform = zoomIdentity;
    this.points = make("canvas", { tabindex: "0", role: "application",
      "aria-label": "Every topic as a point. Arrow keys move the map, plus and minus zoom, Escape lets go of the chosen topic; the search above finds one." });
    this.hint = make("p", { class: "hint", "aria-hidden": "true", hidden: true }, "Two fingers move and zoom the map.");
    this.tip = make("div", { class: "tip", hidden: true });
    const step = (factor) => () => select(this.points).transition().duration(isStill() ? 0 : 250).call(this.zoom.scaleBy, factor);
    this.buttons = make("div", { class: "zooming" },
      make("button", { type: "button", "aria-label": "Zoom in", onclick: step(2) }, "+"),
      make("button", { type: "button", "aria-label": "Zoom out", onclick: step(0.5) }, "−"),
      make("button", { type: "button", "aria-label": "Show all", onclick: () => this.flyTo(zoomIdentity) }, "⤢"));
    place.replaceChildren(this.points, this.tip, this.hint, this.buttons);
    place.classList.add("cloud");
    const isOneFinger = (event) => event.touches?.length === 1; // it scrolls the page
    this.zoom = zoom().scaleExtent([1, MOST_ZOOM]).filter((event) =>
      (!event.ctrlKey || event.type === "wheel") && !event.button && !isOneFinger(event));
    this.zoom.on("start", () => { this.isMoving = true; }).on("zoom", (event) => {
      this.transform = event.transform;
      this.tip.hidden = true;
      this.schedule();
    }).on("end", () => {
      this.isMoving = false;
      this.schedule();
    });
    select(this.points).call(this.zoom);
    this.points.addEventListener("pointermove", (event) => this.hover(event));
    this.points.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.points.addEventListener("click", (event) => {
      const i = this.nearest(event);
      this.pick(i === null ? null : this.plane.labels[i]);
    });
    this.points.addEventListener("keydown", (event) => this.press(event));
    this.points.addEventListener("touchmove", (event) => isOneFinger(event) && !this.isMoving && this.showHint(), { passive: true });
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.scheme.addEventListener("change", () => this.resize());
    this.tree = quadtree(all, (i) => this.x[i], (i) => this.y[i]);
    this.resize();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.points;
    if (width === 0) return;
    this.corner = [this.buttons.offsetLeft, this.buttons.offsetTop];
    [this.width, this.height, this.ratio] = [width, height, null];
    [this.across, this.down] = [EDGE * width, EDGE * height];
    this.zoom.extent([[0, 0], [width, height]]).translateExtent([[-width / 2, -height / 2], [1.5 * width, 1.5 * height]]);
    const style = getComputedStyle(document.documentElement);
    [this.ink, this.paper, this.accent] = ["--text", "--surface", "--accent"].map((name) => style.getPropertyValue(name).trim());
    this.ground = packed(...rgbOf(this.paper));
    const light = this.scheme.matches ? 0.66 : 0.47;
    const colours = new Map([...new Set(this.plane.clusters)].map((cluster) => [cluster, packed(...fromHsl(this.hueOf(cluster), 0.55, light))]));
    this.colours = Uint32Array.from(this.plane.clusters, (cluster) => colours.get(cluster));
    this.draw();
  }

  // Where the unit square lies on the screen: place = start + scale * position.
  view() {
    const { k, x, y } = this.transform;
    return { wide: k * this.across, high: k * this.down, left: x + (k * (this.width - this.across)) / 2, top: y + (k * (this.height - this.down)) / 2 };
  }

  schedule() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = undefined;
      this.draw();
    });
  }

  // Where a pixel of the page is several of the screen, a moving picture is drawn with the former and a still one with
  // the latter: nobody sees the difference in motion, and four times the pixels would cost half of the frames.
  sharpen() {
    const ratio = this.isMoving ? 1 : Math.min(2, devicePixelRatio);
    if (ratio === this.ratio) return;
    this.ratio = ratio;
    this.points.width = Math.round(this.width * ratio);
    this.points.height = Math.round(this.height * ratio);
    this.image = this.points.getContext("2d", { alpha: false }).createImageData(this.points.width, this.points.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  draw() {
    this.sharpen();
    const inSight = this.drawPixels();
    if (inSight.length <= MOST_CIRCLES) this.drawCircles(inSight);
    this.drawCaptions();
  }

  // A hundred thousand points are written into the picture's memory; returns those in sight, if few.
  drawPixels() {
    const { wide, high, left, top } = this.view(), { ratio, pixels, x, y, colours, n } = this;
    const width = this.points.width, height = this.points.height;
    const size = Math.max(1, Math.round(ratio * (this.transform.k > 2 ? 2 : n > 60_000 ? 1 : 2)));
    const a = wide * ratio, b = left * ratio, c = high * ratio, d = top * ratio;
    const inSight = [];
    pixels.fill(this.ground);
    for (let i = 0; i < n; i += 1) {
      const px = (b + a * x[i]) | 0, py = (d + c * y[i]) | 0;
      if (px < 0 || py < 0 || px >= width - size || py >= height - size) continue;
      if (inSight.length <= MOST_CIRCLES) inSight.push(i);
      let at = py * width + px;
      for (let row = 0; row < size; row += 1, at += width) {
        for (let column = 0; column < size; column += 1) pixels[at + column] = colours[i];
      }
    }
    if (inSight.length <= MOST_CIRCLES) pixels.fill(this.ground); // they are drawn as circles instead
    this.points.getContext("2d").putImageData(this.image, 0, 0); // transforms do not concern it
    return inSight;
  }

  drawCircles(inSight) {
    const context = this.points.getContext("2d"), { wide, high, left, top } = this.view(), { ratio } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    const grown = Math.min(2.2, 0.8 + Math.log2(this.transform.k + 1) / 5);
    for (let at = inSight.length - 1; at >= 0; at -= 1) { // frequent ones last, above the others
      const i = inSight[at];
      const value = this.colours[i];
      context.fillStyle = `rgb(${value & 255} ${(value >> 8) & 255} ${(value >> 16) & 255} / 80%)`;
      context.beginPath();
      context.arc(ratio * (left + wide * this.x[i]), ratio * (top + high * this.y[i]), ratio * grown * (1.6 + 4 * (1 - i / this.n) ** 6), 0, 7);
      context.fill();
    }
  }

  // Names of the most frequent topics in sight, where there is room.
  drawCaptions() {
    const context = this.points.getContext("2d"), { wide, high, left, top } = this.view();
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.font = PLAIN;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    const room = new Room(this.width, this.height);
    room.take(...this.corner, this.width, this.height);
    const write = (words, spots, colour = this.ink, width = (name) => context.measureText(name).width) => {
      const name = words.length > 34 ? `${words.slice(0, 33)}…` : words, half = width(name) / 2 + 5;
      const spot = room.place(half, spots(half));
      if (spot === null) return false;
      context.strokeStyle = this.paper;
      context.strokeText(name, ...spot);
      context.fillStyle = colour;
      context.fillText(name, ...spot);
      return true;
    };
    this.drawChosen(context, room, write);
    const chosen = this.indexOf.get(this.chosen);
    const most = Math.min(MOST_CAPTIONS, Math.round((this.width * this.height) / 9000));
    for (let at = 0, written = 0; at < Math.min(this.named.length, SCANNED) && written < most; at += 1) {
      const i = this.named[at];
      if (i === chosen) continue;
      const x = left + wide * this.x[i], y = top + high * this.y[i];
      if (x > 0 && x < this.width && y > 16 && y < this.height - 6 && write(String(title(this.plane.names[i])), () => [[x, y - 6]], this.ink, (name) => this.widthOf(name, context))) written += 1;
    }
  }

  // To measure a name takes longer than all else of a frame, so it is done once.
  widthOf(name, context) {
    let width = this.widths.get(name);
    if (width === undefined) this.widths.set(name, width = context.measureText(name).width);
    return width;
  }

  // The chosen topic, and lines to where its meanings lie. Their captions lie over none of them.
  drawChosen(context, room, write) {
    if (this.chosen === null) return;
    const { wide, high, left, top } = this.view(), i = this.indexOf.get(this.chosen);
    const x = left + wide * this.x[i], y = top + high * this.y[i];
    context.strokeStyle = this.accent;
    context.fillStyle = this.accent;
    context.lineWidth = 2;
    const meanings = this.meaningsOf(this.chosen).map((sense, at) => ({
      name: sense.name || "another meaning", x: left + wide * sense.x, y: top + high * sense.y, font: at === this.meaning ? CHOSEN : PLAIN,
    }));
    for (const meaning of meanings) {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(meaning.x, meaning.y);
      context.stroke();
      context.beginPath();
      context.arc(meaning.x, meaning.y, DOT - 1, 0, 7);
      context.fill();
    }
    context.beginPath();
    context.arc(x, y, CIRCLE - 1, 0, 7);
    context.stroke();
    context.lineWidth = 3.5;
    const named = [{ name: String(title(this.plane.names[i])), x, y, radius: CIRCLE, font: CHOSEN }, ...meanings.map((one) => ({ ...one, radius: DOT }))];
    const inSight = named.filter((one) => one.x > 0 && one.x < this.width && one.y > 0 && one.y < this.height);
    for (const one of inSight) room.take(one.x - one.radius, one.y - one.radius, one.x + one.radius, one.y + one.radius);
    for (const one of inSight) {
      context.font = one.font;
      write(one.name, (half) => spotsAround(one.x, one.y, one.radius, half), this.accent);
    }
    context.font = PLAIN;
  }

  meaningsOf(label) {
    return this.plane.senses.filter((sense) => sense.label === label);
  }

  nearest(event) {
    const { wide, high, left, top } = this.view(), box = this.points.getBoundingClientRect();
    const found = this.tree.find((event.clientX - box.left - left) / wide, (event.clientY - box.top - top) / high, REACH / high);
    return found ?? null;
  }

  hover(event) {
    const i = event.buttons || this.isMoving ? null : this.nearest(event), box = this.points.getBoundingClientRect();
    this.tip.hidden = i === null;
    if (i === null) return;
    this.tip.textContent = title(this.plane.names[i]);
    this.tip.style.left = `${Math.min(event.clientX - box.left + 12, this.width - 160)}px`;
    this.tip.style.top = `${event.clientY - box.top + 12}px`;
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { k } = this.transform, all = select(this.points);
    if (event.key in STEPS) this.zoom.translateBy(all, ...STEPS[event.key].map((step) => (step * STRIDE) / k));
    else if (event.key in ZOOMS) this.zoom.scaleBy(all, ZOOMS[event.key]);
    else if (event.key === "Escape") this.pick(null);
    else return;
    event.preventDefault();
  }

  showHint() {
    this.hint.hidden = false;
    clearTimeout(this.hiding);
    this.hiding = setTimeout(() => { this.hint.hidden = true; }, 1000 * HINT_SECONDS);
  }

  // Fly to a topic and its meanings, or to one of these; null lets go of it. Returns whether there is such a topic.
  choose(label, meaning = null) {
    this.tip.hidden = true;
    [this.chosen, this.meaning] = [this.indexOf.has(label) ? label : null, meaning];
    if (this.chosen === null) {
      this.draw();
      return label === null;
    }
    const meanings = this.meaningsOf(label), i = this.indexOf.get(label), all = [{ x: this.x[i], y: this.y[i] }, ...meanings];
    const ends = (of) => ["x", "y"].map((axis) => [Math.min(...of.map((one) => one[axis])), Math.max(...of.map((one) => one[axis]))]);
    const spread = Math.max(...ends(all).map(([least, most]) => most - least));
    const one = meanings[meaning]; // with it in the middle, the others stay in sight
    const k = Math.max(1, Math.min(CLOSE, Math.sqrt(this.n / IN_SIGHT), (one ? 0.4 : 0.6) / Math.max(spread, 1e-3)));
    const [middleX, middleY] = ends(one ? [one] : all).map(([least, most]) => (least + most) / 2);
    const x = (this.width - this.across) / 2 + this.across * middleX, y = (this.height - this.down) / 2 + this.down * middleY;
    this.flyTo(zoomIdentity.translate(this.width / 2 - k * x, this.middleInSight() - k * y).scale(k));
    return true;
  }

  // On a phone the card of the topic covers a part of the cloud.
  middleInSight() {
    const { top } = this.points.getBoundingClientRect(), from = Math.max(0, -top);
    const to = Math.min(this.height, innerHeight - top - (isNarrow() ? CARD : 0));
    return to > from ? (from + to) / 2 : this.height / 2;
  }

  flyTo(transform) {
    if (isStill()) select(this.points).call(this.zoom.transform, transform);
    else select(this.points).transition().duration(900).call(this.zoom.transform, transform);
    this.schedule();
  }
}

// As the picture's memory has it: red first.
const packed = (red, green, blue) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

const rgbOf = (hex) => {
  const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((at) => parseInt(full.slice(at, at + 2), 16));
};

function fromHsl(hue, saturation, light) {
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - saturation * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}
