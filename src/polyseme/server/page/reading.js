// Files that people drop: which texts are in them.

import { dsvFormat } from "./vendor/d3.js";

// The same names as those that the command line knows.
const WHOLE_TEXTS = ["text", "fulltext", "full_text", "document", "content"];
const PARTS_OF_TEXTS = ["title", "headline", "subtitle", "abstract", "summary", "description", "body"];
const ID_NAMES = ["id", "_id", "doc_id", "docid", "document_id", "record_id", "identifier", "uid", "uuid", "key", "number", "doi", "url"];
const LABEL_NAMES = ["labels", "label", "tags", "keywords", "subjects", "subject", "categories", "category", "topics"];
const LONGEST_NAME = 60; // of a column; what is longer is text

// Return { id, text } for each text of a file.
export async function textsOf(file) {
  const content = await decoded(file);
  const ending = file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase();
  if (ending === "csv" || ending === "tsv") return fromTable(table(content, ending === "tsv" ? "\t" : separator(content)), file.name);
  if (["json", "jsonl", "ndjson"].includes(ending)) return fromObjects(objects(content, file.name), file.name);
  return [{ id: file.name, text: ["html", "htm"].includes(ending) ? withoutMarkup(content) : content }];
}

async function decoded(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const begins = (word) => [...word].every((letter, i) => bytes[i] === letter.charCodeAt(0));
  if (begins("%PDF")) throw new Error(`${file.name} is a PDF, which cannot be read here: copy its text, or save it as .txt.`);
  if (begins("PK\x03\x04")) throw new Error(`${file.name} is a document of Word or Excel, or an archive, which cannot be read here: save it as .txt or .csv.`);
  try {
    const content = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!content.includes("\0")) return content;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new Error(`${file.name} is not text in UTF-8: save it as that, as .txt, .csv, .tsv, .json or .jsonl.`);
}

function withoutMarkup(content) {
  // The policy of this page would complain of attributes such as "style" even where nothing is shown.
  const bare = content.replace(/<(script|style|noscript)\b.*?<\/\1\s*>/gis, " ")
    .replace(/<([a-z][\w-]*)(?:"[^"]*"|'[^']*'|[^>"'])*>/gi, "<$1>")
    .replace(/<\/?(?:br|d[dlt]|div|h[1-6r]|li|[ou]l|p|pre|t[dhr]|table|article|section|blockquote|header|footer)>/gi, "\n$&");
  const page = new DOMParser().parseFromString(bare, "text/html");
  return page.body.textContent.replace(/\s*\n\s*/g, "\n").trim();
}

const separator = (content) => {
  const line = content.slice(0, content.search(/[\r\n]|$/)).replace(/"[^"]*"/g, "");
  return line.split(";").length > line.split(",").length ? ";" : ",";
};

const table = (content, between) => dsvFormat(between).parseRows(content).filter((row) => row.some((cell) => cell !== ""));

function fromTable(rows, name) {
  const [first = [], ...others] = rows;
  const isKnown = (cell) => [...WHOLE_TEXTS, ...PARTS_OF_TEXTS, ...ID_NAMES, ...LABEL_NAMES].includes(plain(cell));
  // What is as long as a sentence names no column, so the first row is a text like the others.
  const hasHead = first.some(isKnown) || first.every((cell) => cell.length <= LONGEST_NAME);
  const head = hasHead ? first : first.map((_, i) => `column ${i + 1}`);
  return fromObjects((hasHead ? others : rows).map((row) => Object.fromEntries(head.map((column, i) => [column, row[i] ?? ""]))), name);
}

const plain = (word) => word.trim().toLowerCase();

function objects(content, name) {
  const trimmed = content.trim();
  if (trimmed === "") return [];
  try {
    const found = trimmed.startsWith("[") ? JSON.parse(trimmed) : trimmed.split(/\r?\n/).filter(Boolean).map((line) => JSON.parse(line));
    return found.map((one) => (typeof one === "string" ? { text: one } : { ...one }));
  } catch {
    throw new Error(`${name} is neither a list in JSON nor one object per line.`);
  }
}

function fromObjects(found, name) {
  if (found.length === 0) return [];
  const keys = [...new Set(found.flatMap(Object.keys))];
  const textOf = (value) => (value == null || typeof value === "object" ? "" : String(value));
  const called = (names) => names.map((wanted) => keys.find((key) => plain(key) === wanted)).filter((key) => key !== undefined);
  const longest = () => keys.filter((key) => !LABEL_NAMES.includes(plain(key)))
    .reduce((best, key) => (best === undefined || length(found, key) > length(found, best) ? key : best), undefined);
  const whole = called(WHOLE_TEXTS).slice(0, 1), parts = called(PARTS_OF_TEXTS), [idKey] = called(ID_NAMES);
  const textKeys = [whole, parts, [longest()]].find((some) => some.length);
  if (textKeys[0] === undefined) throw new Error(`${name} has no column of texts.`);
  return found.map((one, i) => ({
    id: textOf(one[idKey]) || `${name}:${i + 1}`,
    text: textKeys.map((key) => textOf(one[key])).filter(Boolean).join("\n"),
  }));
}

const length = (found, key) => found.slice(0, 50).reduce((sum, one) => sum + String(one[key] ?? "").length, 0);
