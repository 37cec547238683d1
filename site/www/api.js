// Asks the API. Whatever happens is an answer: nothing here throws.

const patience = 40_000; // milliseconds; the edge gives up after 35 seconds

// ask sends a request and returns {status, headers, text, json, failure}. status is 0
// and failure "network" or "timeout" if no answer came; json is undefined unless the
// body is a JSON object.
export async function ask(method, path, { headers = {}, body } = {}) {
  const answer = { method, path, status: 0, headers: new Headers(), text: "" };
  try {
    const response = await fetch(path, {
      method,
      headers,
      body,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(patience),
    });
    answer.text = await response.text();
    answer.status = response.status;
    answer.headers = response.headers;
  } catch (error) {
    answer.failure = error.name === "TimeoutError" ? "timeout" : "network";
    return answer;
  }
  try {
    const json = JSON.parse(answer.text);
    if (json !== null && typeof json === "object" && !Array.isArray(json)) answer.json = json;
  } catch {
    // Not JSON: words.js says what that means.
  }
  return answer;
}

// knock sends a request to another origin without asking first, and tells whether
// anything answered. A page may not read such an answer.
export async function knock(url) {
  try {
    await fetch(url, {
      method: "POST",
      mode: "no-cors",
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(patience),
    });
    return true;
  } catch {
    return false;
  }
}
