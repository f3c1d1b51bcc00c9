// Review: topics that a person accepts or rejects, text by text, to be kept or learned.

import { chosen, post } from "./api.js";
import { count, find, make } from "./dom.js";
import { asLines, download } from "./saving.js";

let tell, changed, documents = [], current = null;

export function begin(told) {
  tell = told;
  ({ changed } = told);
  find("text").addEventListener("input", () => {
    const text = find("text").value;
    if (text.trim() === "" || (current && isAnother(current.text, text))) nextDocument();
    else if (current) current.text = text;
  });
}

export function forget() {
  documents = [];
  nextDocument();
}

// What comes now is another text.
export function nextDocument() {
  current = null;
  show();
}

// Whoever pastes another text over one that was decided on did not decide on the new one.
function isAnother(before, after) {
  const least = Math.min(before.length, after.length);
  let start = 0, end = 0;
  while (start < least && before[start] === after[start]) start += 1;
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return start + end < least / 2;
}

export const decision = (label) => current?.decisions.get(label)?.decision ?? null;

// To decide the same again takes it back.
export function decide({ label, name, uri }, wanted) {
  if (!current) {
    current = { text: find("text").value, decisions: new Map() };
    documents.push(current);
  }
  if (decision(label) === wanted) current.decisions.delete(label);
  else current.decisions.set(label, { decision: wanted, name: uri ?? name });
  if (current.decisions.size === 0) {
    documents.splice(documents.indexOf(current), 1);
    current = null;
  }
  changed();
  show();
}

// In the form that "polyseme update" reads: a text, and the labels it should have.
function reviewed() {
  return documents.map(({ text, decisions }) => {
    const of = (wanted) => [...decisions.values()].filter((one) => one.decision === wanted).map((one) => one.name);
    return { text, labels: of("accepted"), rejected: of("rejected") };
  });
}

function show(sentence = null) {
  const n = documents.length, place = find("review");
  place.hidden = n === 0 && sentence === null;
  const accepted = documents.flatMap((one) => [...one.decisions.values()]).filter((one) => one.decision === "accepted").length;
  place.replaceChildren(
    make("span", { class: "quiet", role: "status" }, sentence ?? `Reviewed: ${count(n, "text")}, ${count(accepted, "topic")} accepted.`),
    ...(n === 0 ? [] : [make("span", { class: "row" },
      make("button", {
        type: "button",
        title: "a text per line with its labels, as “polyseme update” reads them",
        onclick: () => download("reviewed.jsonl", asLines(reviewed()), "application/jsonl"),
      }, "Download"),
      chosen.takesUpdates && accepted ? make("button", { type: "button", class: "primary", onclick: send }, "Teach the model") : null)]));
}

async function send(event) {
  event.currentTarget.disabled = true;
  try {
    const taught = reviewed().filter((one) => one.labels.length).map(({ text, labels }) => ({ text, labels }));
    const answer = await post("update", { documents: taught });
    documents = [];
    current = null;
    changed();
    show(`The model has learned ${count(answer.n_documents, "text")}.${answer.full_training_due.length ? " A full training is due." : ""}`);
  } catch (error) {
    show();
    tell.showProblem(error);
  }
}
