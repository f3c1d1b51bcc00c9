// Review: topics that a person accepts or rejects, text by text, to be kept or learned.

import { chosen, post } from "./api.js";
import { count, find, make } from "./dom.js";
import { asLines, download } from "./saving.js";

const KEPT = "polyseme-reviewed";
let tell, changed, documents = [], current = null, isTeaching = false;

export function begin(told) {
  tell = told;
  ({ changed } = told);
  find("text").addEventListener("input", () => {
    const text = find("text").value;
    if (text.trim() === "" || (current && isAnother(current.text, text))) nextDocument();
    else if (current) current.text = text;
  });
}

// Another model has been chosen, or the page opened; what was decided waits for whoever comes back.
export function forget() {
  documents = kept().map(({ text, decisions }) => ({ text, decisions: new Map(decisions) }));
  nextDocument();
}

const place = () => `${KEPT} ${chosen.model}`;
const kept = () => JSON.parse(sessionStorage.getItem(place()) ?? "[]");
const keep = () => sessionStorage.setItem(place(), JSON.stringify(documents.map(({ text, decisions }) => ({ text, decisions: [...decisions] }))));

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
  keep();
  changed();
  show();
}

// In the form that "polyseme update" reads: a text, and the labels it should have.
function reviewed({ text, decisions }) {
  const of = (wanted) => [...decisions.values()].filter((one) => one.decision === wanted).map((one) => one.name);
  return { text, labels: of("accepted"), rejected: of("rejected") };
}

function show(sentence = null) {
  const n = documents.length, all = documents.map(reviewed);
  const [accepted, rejected] = ["labels", "rejected"].map((kind) => all.reduce((sum, one) => sum + one[kind].length, 0));
  find("clear").textContent = current ? "Next text" : "Clear";
  find("review").hidden = n === 0 && sentence === null;
  find("review").replaceChildren(
    make("span", { class: "quiet", role: "status" }, sentence ?? `Reviewed: ${count(n, "text")}, ${count(accepted, "topic")} accepted${rejected ? `, ${rejected} rejected` : ""}.`),
    ...(n === 0 ? [] : [make("span", { class: "row" },
      make("button", {
        type: "button",
        title: "a text per line with its labels, as “polyseme update” reads them",
        onclick: () => download("reviewed.jsonl", asLines(all), "application/jsonl"),
      }, "Download"),
      chosen.takesUpdates && accepted ? make("button", {
        type: "button", class: "primary", disabled: isTeaching, onclick: send,
        title: "Each text is learned with the topics that you accepted, and with no others.",
      }, isTeaching ? "Learning …" : "Teach the model") : null)]));
}

async function send() {
  const isLearned = (one) => one.labels.length > 0;
  const sent = documents.map(reviewed).filter(isLearned);
  isTeaching = true;
  show();
  try {
    const answer = await post("update", { documents: sent.map(({ text, labels }) => ({ text, labels })) });
    isTeaching = false;
    // What was decided meanwhile is still to be learned.
    const done = new Set(sent.map((one) => JSON.stringify(one)));
    documents = documents.filter((one) => !done.has(JSON.stringify(reviewed(one))));
    if (!documents.includes(current)) current = null;
    keep();
    changed();
    show(`The model has learned ${count(answer.n_documents, "text")}.${answer.full_training_due.length ? " A full training is due." : ""}`);
    await tell.learned();
  } catch (error) {
    isTeaching = false;
    show();
    tell.showProblem(error);
  }
}
