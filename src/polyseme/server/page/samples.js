// Samples: short buttons that fill in a training text, of meanings of ambiguous topics where there are some.

import { chosen, get } from "./api.js";
import { find, make } from "./dom.js";

const N_TOPICS = 3, N_SAMPLES = 6, MOST_LETTERS = 36, LONG_NAME = 20;
let tell, offeredFor = null;

export function begin(told) {
  tell = told;
}

export function forget() {
  offeredFor = null;
  find("samples").replaceChildren();
}

// A long name would leave no room for the meaning, which tells more of the text.
const captionOf = (name, meaning) => (name.length > LONG_NAME ? meaning : `${name}: ${meaning}`);

export async function offer() {
  const place = find("samples"), { model } = chosen;
  if (offeredFor === model) return;
  offeredFor = model;
  try {
    const order = chosen.senses?.n_ambiguous_labels ? "ambiguity" : "documents";
    const { labels } = await get("labels", { order, limit: order === "ambiguity" ? N_TOPICS : N_SAMPLES });
    if (offeredFor !== model) return; // another model has other topics
    const details = await Promise.all(labels.map((one) => get(`labels/${one.label}`)));
    if (offeredFor !== model) return;
    const offered = details.flatMap((one) => (one.senses.length
      ? one.senses.map((sense) => ({ caption: captionOf(String(one.name), sense.name.split(",")[0]), text: sense.examples[0] }))
      : [{ caption: String(one.name), text: one.examples[0] }])).filter((one) => one.text).slice(0, N_SAMPLES);
    place.hidden = offered.length === 0;
    place.replaceChildren(make("span", { class: "quiet" }, "Samples"), ...offered.map(({ caption, text }) => make("button", {
      type: "button", class: "chip sample", title: text, onclick: () => tell.use(text),
    }, caption.length > MOST_LETTERS ? `${caption.slice(0, MOST_LETTERS - 1)}…` : caption)));
  } catch (error) {
    tell.showProblem(error);
  }
}
