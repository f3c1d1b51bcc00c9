// Questions to the server. Every failure is an Error whose message can be shown to people.

const KEPT = "polyseme-token";
let token = sessionStorage.getItem(KEPT);

export const chosen = {
  model: null, isOneOfSeveral: false, takesTexts: true, hasProbabilities: true, threshold: null, senses: null, takesUpdates: false, nTopics: 0,
  hasFeatureNames: true,
};

// Where a view of the chosen model is, such as "meanings/7"; good for a new tab, too.
export const address = (view) => `#${view}${chosen.isOneOfSeveral ? `?model=${encodeURIComponent(chosen.model)}` : ""}`;

export class TokenWanted extends Error {}

export function useToken(text) {
  token = text;
  sessionStorage.setItem(KEPT, text);
}

export const hasToken = () => Boolean(token);

async function send(path, options) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.status === 401) throw new TokenWanted("This server wants a token.");
  let body;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`The server gave an answer that cannot be read (status ${response.status}).`);
  }
  if (!response.ok) throw Object.assign(new Error(body.detail ?? `The server refused (status ${response.status}).`), { status: response.status });
  return body;
}

export function get(path, parameters = {}, signal = undefined) {
  const all = new URLSearchParams(parameters);
  if (chosen.model !== null) all.set("model", chosen.model);
  return send(`v1/${path}?${all}`, { signal });
}

export function post(path, question, signal = undefined) {
  return send(`v1/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...question, model: chosen.model }),
    signal,
  });
}

// Returns a function that runs a task, and ends the one before: only the last answer counts.
export function latestOnly(onError) {
  let current = null;
  return async (task) => {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    try {
      await task(mine.signal, () => current === mine);
    } catch (error) {
      if (current === mine && error.name !== "AbortError") onError(error);
    }
  };
}

export function debounced(action, milliseconds = 150) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}
