// Files that people drop: which texts are in them.

const TEXT_NAMES = ["text", "abstract", "description", "content", "body", "summary", "title", "name"];
const ID_NAMES = ["id", "identifier", "key", "number", "doi", "url"];

// Return { id, text } for each text of a file.
export async function textsOf(file) {
  const content = await decoded(file);
  const ending = file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase();
  if (ending === "csv" || ending === "tsv") return fromTable(table(content, ending === "tsv" ? "\t" : separator(content)), file.name);
  if (["json", "jsonl", "ndjson"].includes(ending)) return fromObjects(objects(content, file.name), file.name);
  return [{ id: file.name, text: content }];
}

// A scan, a document of Word or a table in another encoding would give topics of nonsense.
async function decoded(file) {
  const bytes = await file.arrayBuffer();
  try {
    const content = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!content.includes("\0")) return content;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new Error(`${file.name} is not text in UTF-8: save it as that, as .txt, .csv, .tsv, .json or .jsonl.`);
}

const separator = (content) => {
  const line = content.slice(0, content.search(/[\r\n]|$/));
  return line.split(";").length > line.split(",").length ? ";" : ",";
};

function table(content, between) {
  const rows = [];
  let row = [], cell = "", isQuoted = false;
  const end = () => {
    row.push(cell);
    cell = "";
  };
  for (let i = 0; i < content.length; i += 1) {
    const letter = content[i];
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (content[i + 1] === '"') {
        cell += '"';
        i += 1;
      } else isQuoted = false;
    } else if (letter === '"' && cell === "") isQuoted = true;
    else if (letter === between) end();
    else if (letter === "\n") {
      end();
      rows.push(row);
      row = [];
    } else if (letter !== "\r") cell += letter;
  }
  if (cell !== "" || row.length) {
    end();
    rows.push(row);
  }
  return rows.filter((one) => one.some((value) => value !== ""));
}

function fromTable([head = [], ...rows], name) {
  return fromObjects(rows.map((row) => Object.fromEntries(head.map((column, i) => [column, row[i] ?? ""]))), name);
}

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
  const keys = Object.keys(found[0]);
  const called = (names) => names.map((wanted) => keys.find((key) => key.trim().toLowerCase() === wanted)).find((key) => key !== undefined);
  const longest = () => keys.reduce((best, key) => (length(found, key) > length(found, best) ? key : best), keys[0]);
  const textKey = called(TEXT_NAMES) ?? longest(), idKey = called(ID_NAMES);
  if (textKey === undefined) throw new Error(`${name} has no column of texts.`);
  return found.map((one, i) => ({ id: String(one[idKey] ?? `${name}:${i + 1}`), text: String(one[textKey] ?? "") }));
}

const length = (found, key) => found.slice(0, 50).reduce((sum, one) => sum + String(one[key] ?? "").length, 0);
