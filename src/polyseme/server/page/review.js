// Review: topics that a person accepts or rejects, text by text, to be kept or learned.

import { chosen, post } from "./api.js";
import { count, find, make } from "./dom.js";
import { asLines, download } from "./saving.js";

const KEPT = "polyseme-reviewed";
let tell, changed, documents = [], current = null, teaching = null; // teaching is where the reviews are kept that are sent

export function begin(told) {
  tell = told;
  ({ changed } = told);
  find("text").addEventListener("input", follow);
}

// Another model has been chosen, or the page opened; what was decided waits for whoever comes back.
export function forget() {
  documents = kept(place());
  current = null;
  follow();
}

const place = () => `${KEPT} ${chosen.model}`;

const kept = (at) => JSON.parse(sessionStorage.getItem(at) ?? "[]").map(({ text, decisions }) => ({ text, decided: text, decisions: new Map(decisions) }));

function keep(at, all) {
  try {
    sessionStorage.setItem(at, JSON.stringify(all.map(({ text, decisions }) => ({ text, decisions: [...decisions] }))));
  } catch {
    tell.showProblem(new Error("This browser keeps no more reviewed texts: download them before you close the tab."));
  }
}

// Decisions go with their text while it is edited, and stay with it when another one comes.
export function follow() {
  const text = find("text").value, before = current;
  if (current && isAnother(current.decided, text)) {
    if (current.text.length < current.decided.length) current.text = current.decided; // it was being deleted
    current = null;
  }
  current = documents.find((one) => one.text === text) ?? current;
  if (current) current.text = text;
  if (before || current) keep(place(), documents);
  if (before !== current) changed();
  show();
}

// Whoever writes another text over one that was decided on did not decide on the new one.
function isAnother(before, after) {
  const least = Math.min(before.length, after.length);
  let start = 0, end = 0;
  while (start < least && before[start] === after[start]) start += 1;
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return start + end < Math.max(before.length, after.length) / 2;
}

export const decision = (label) => current?.decisions.get(label)?.decision ?? null;

// To decide the same again takes it back.
export function decide({ label, name, uri }, wanted) {
  if (!current) {
    current = { text: find("text").value, decisions: new Map() };
    documents.push(current);
  }
  current.decided = current.text;
  if (decision(label) === wanted) current.decisions.delete(label);
  else current.decisions.set(label, { decision: wanted, name: uri ?? name });
  if (current.decisions.size === 0) {
    documents.splice(documents.indexOf(current), 1);
    current = null;
  }
  changed();
  show();
  keep(place(), documents);
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
        onclick: () => download("reviewed.jsonl", asLines(documents.map(reviewed)), "application/jsonl"),
      }, "Download"),
      chosen.takesUpdates && accepted ? make("button", {
        type: "button", class: "primary", disabled: teaching === place(), onclick: send,
        title: "Each text is learned with the topics that you accepted, and with no others.",
      }, teaching === place() ? "Learning …" : "Teach the model") : null)]));
}

async function send() {
  const at = place(), sent = documents.map(reviewed).filter((one) => one.labels.length);
  const done = new Set(sent.map((one) => JSON.stringify(one)));
  // What was decided meanwhile is still to be learned.
  const left = (all) => all.filter((one) => !done.has(JSON.stringify(reviewed(one))));
  teaching = at;
  show();
  try {
    const answer = await post("update", { documents: sent.map(({ text, labels }) => ({ text, labels })) });
    teaching = null;
    if (place() !== at) { // another model was chosen meanwhile
      keep(at, left(kept(at)));
      return;
    }
    documents = left(documents);
    if (!documents.includes(current)) current = null;
    keep(at, documents);
    changed();
    show(`The model has learned ${count(answer.n_documents, "text")}.${answer.full_training_due.length ? " A full training is due." : ""}`);
    await tell.learned();
  } catch (error) {
    teaching = null;
    show();
    tell.showProblem(error);
  }
}
