// Files that people drop: which texts are in them.

const TEXT_NAMES = ["text", "abstract", "description", "content", "body", "summary", "title", "name"];
const ID_NAMES = ["id", "identifier", "key", "number", "doi", "url"];

// Return { id, text } for each text of a file.
export async function textsOf(file) {
  const content = await file.text();
  const ending = file.name.slice(file.name.lastIndexOf(".") + 1).toLowerCase();
  if (ending === "csv" || ending === "tsv") return fromTable(table(content, ending === "tsv" ? "\t" : separator(content)), file.name);
  if (["json", "jsonl", "ndjson"].includes(ending)) return fromObjects(objects(content, file.name), file.name);
  return content.trim() === "" ? [] : [{ id: file.name, text: content }];
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
  for (let i = content.charCodeAt(0) === 0xfeff ? 1 : 0; i < content.length; i += 1) {
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
    return found.map((one) => (typeof one === "string" ? { text: one } : one));
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
  return found.map((one, i) => ({ id: idKey === undefined ? `${name}:${i + 1}` : String(one[idKey]), text: String(one[textKey] ?? "") }));
}

const length = (found, key) => found.slice(0, 50).reduce((sum, one) => sum + String(one[key] ?? "").length, 0);
