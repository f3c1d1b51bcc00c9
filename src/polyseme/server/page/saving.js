// What leaves the page: into the clipboard, or as a file.

import { csvFormatRows } from "./vendor/d3.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Only pages of https and of this machine may use the clipboard's own interface.
    const place = document.createElement("textarea");
    place.value = text;
    document.body.append(place);
    place.select();
    document.execCommand("copy");
    place.remove();
  }
}

export function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const MARK = "\ufeff"; // without it, Excel does not take a file for UTF-8

export const asCsv = (head, rows) => `${MARK}${csvFormatRows([head, ...rows])}\n`;

export const asLines = (values) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
