// The three ways in which a caller tries to choose its own bucket, sent as far as a
// browser can send them, with the curl for the rest.

import { knock } from "./api.js";
import { callDemo, counted, lastDemo } from "./bucket.js";
import { byId, make, onClick, say, verdict } from "./dom.js";
import { explain, isRefusal } from "./words.js";

const path = "/api/demo/cap";
const forged = "203.0.113.99"; // from a range for documentation (RFC 5737)

// start draws the attacks on this page's edge, and on the side door if it is known.
export function start(sideDoor) {
  const place = byId("attacks");
  place.replaceChildren(
    card({
      id: "forwarded",
      name: "Forge X-Forwarded-For",
      why: "The header that most servers believe. It is never read here; the answer shows what was ignored.",
      header: ["X-Forwarded-For", forged],
      url: location.origin + path,
      run: throughEdge,
    }),
    card({
      id: "viewer",
      name: "Forge the viewer address",
      why: "The header that is read. CloudFront replaces whatever a caller sends in it with the address it saw.",
      header: ["CloudFront-Viewer-Address", forged + ":1234"],
      url: location.origin + path,
      run: throughEdge,
    }),
    card({
      id: "door",
      name: "Go round the edge",
      why: "The API’s own URL is no secret. Without the edge’s secret it answers 401, however good the forgery.",
      header: ["CloudFront-Viewer-Address", forged + ":1234"],
      url: (sideDoor ?? "https://SIDE_DOOR") + path,
      run: sideDoor ? atSideDoor : unknownSideDoor,
    }),
  );
}

function card(attack) {
  const { id, name, why, header, url } = attack;
  const curl = `curl -i -X POST -H '${header[0]}: ${header[1]}' ${url}`;
  const code = make("code", { id: id + "-curl" }, curl);
  const result = make("div", { className: "outcome", id: id + "-outcome", role: "status" });
  const button = make("button", { type: "button", id: id + "-run" }, "Try it");
  button.setAttribute("aria-describedby", id + "-name");
  const copy = make("button", { type: "button", className: "quiet", id: id + "-copy" }, "Copy");
  copy.setAttribute("aria-label", `Copy the curl command: ${name}`);
  onClick(copy, () => copyText(copy, code));
  onClick(button, async () => {
    result.replaceChildren(...(await attack.run(attack)));
  });
  return make(
    "article",
    { className: "card attack" },
    make("div", { className: "attack-head" }, make("div", {}, make("h3", { id: id + "-name" }, name), make("p", {}, why)), button),
    make("div", { className: "curl" }, code, copy),
    result,
  );
}

async function copyText(button, code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    say("Copied.");
    setTimeout(() => (button.textContent = "Copy"), 2000);
  } catch {
    // A page without a secure connection has no clipboard.
    getSelection().selectAllChildren(code);
    say("Selected. Copy it with Ctrl or Command and C.");
  }
}

// throughEdge compares a forged call with an honest one.
async function throughEdge({ header }) {
  let before = lastDemo();
  if (!before) {
    const honest = await callDemo();
    if (!counted(honest)) return failed(honest);
    before = honest.json;
  }
  const answer = await callDemo({ [header[0]]: header[1] });
  if (!counted(answer)) return failed(answer, header);
  return [judge(before, answer), exchange(header, answer)];
}

function judge(before, { json: after, ...answer }) {
  if (after.countedAs === forged || after.countedAs !== before.countedAs) {
    return verdict("bad", "The bucket has changed.", `You were counted as ${before.countedAs}, and now as ${after.countedAs}. If your network has not changed in between, the forgery worked and the cap is open.`);
  }
  if (isRefusal({ ...answer, json: after })) {
    return verdict("good", "Refused all the same.", `Still counted as ${after.countedAs}, whose ${after.cap} calls are used up. The forgery bought nothing.`);
  }
  return verdict("good", "No effect.", `Still counted as ${after.countedAs}: ${before.count} before, now ${after.count} of ${after.cap}.`);
}

function failed(answer, header) {
  const { title, text } = explain(answer);
  return header ? [verdict("bad", title, text), exchange(header, answer)] : [verdict("bad", title, text)];
}

function exchange([name, value], { status, text, json }) {
  const body = json ? JSON.stringify(json, null, 1).replace(/\n\s*/g, " ") : text.slice(0, 300);
  return make(
    "dl",
    { className: "exchange" },
    make("div", {}, make("dt", {}, "Sent"), make("dd", {}, make("code", {}, `POST ${path}`), make("br"), make("code", {}, `${name}: ${value}`))),
    make("div", {}, make("dt", {}, "Came back"), make("dd", {}, make("code", {}, status ? `${status} ${body}` : "nothing"))),
  );
}

// atSideDoor sends what a page may send to another origin without asking it first: a
// POST without the forged header. The side door answers no such question, since it
// answers 401 to everything, and a page may not read what it does answer.
async function atSideDoor({ url, header }) {
  const answered = await knock(url);
  const sent = make(
    "dl",
    { className: "exchange" },
    make("div", {}, make("dt", {}, "Sent"), make("dd", {}, make("code", {}, `POST ${url}`))),
    make("div", {}, make("dt", {}, "Not sent"), make("dd", {}, make("code", {}, header[0]), " A browser would have to ask the side door first, which answers 401 to that too.")),
    make("div", {}, make("dt", {}, "Came back"), make("dd", {}, answered ? "An answer that browsers hide from pages of another site." : "Nothing that this page may see.")),
  );
  if (!answered) return [verdict("plain", "Your browser shows nothing.", "Either the side door cannot be reached from here, or the browser withholds its answer altogether. The command above tells which."), sent];
  return [
    verdict("plain", "It answered, and your browser keeps the answer to itself.", "The command above shows it: 401 not_via_cloudfront."),
    sent,
  ];
}

async function unknownSideDoor() {
  return [verdict("plain", "Not sent.", "This page was not told the side door’s URL. Put it into the command above: it is an output of the deployment, SideDoorURL.")];
}
