// The caller's own bucket: what GET /api/cap says of the paid budget, and what the last
// counted answer said of the demo budget, which cannot be asked without a call. It is
// kept in memory only, and ends with the day.

import { ask } from "./api.js";
import { byId, make, onClick, say, verdict } from "./dom.js";
import { calls, dollars, explain, stopped, wait } from "./words.js";

let paid; // the body of GET /api/cap; null: there is no paid budget
let demo; // the newest body of POST /api/demo/cap
let ahead = 0; // how far the server's clock is before this one, in milliseconds

export const lastDemo = () => demo;
export const lastPaid = () => paid;
const countedAs = () => demo?.countedAs ?? paid?.countedAs;

// isBucket tells whether an answer says whose bucket it is and when it resets, as all of
// the API that are about one do.
const isBucket = ({ json }) => typeof json?.countedAs === "string" && !Number.isNaN(Date.parse(json.resetAt));

// counted tells whether an answer says how many demo calls were counted.
export const counted = (answer) => isBucket(answer) && Number.isInteger(answer.json.count) && Number.isInteger(answer.json.cap);

// callDemo makes one demo call, and shows what it says about the bucket.
export async function callDemo(headers) {
  const answer = await ask("POST", "/api/demo/cap", { headers });
  if (counted(answer)) {
    const body = answer.json;
    // Answers of calls in parallel may come in any order; a count never falls in a day.
    if (!demo || body.resetAt > demo.resetAt || (body.resetAt === demo.resetAt && body.count >= demo.count)) demo = body;
    setClock(answer);
    draw();
  }
  return answer;
}

// refresh asks for the paid budget, which takes nothing out of it, and returns what is
// in the way, if anything.
export async function refresh() {
  const answer = await ask("GET", "/api/cap");
  setClock(answer);
  if (answer.status === 200 && isBucket(answer)) {
    paid = answer.json;
  } else if (answer.status === 404 && answer.json) {
    paid = null;
  } else {
    draw();
    return explain(answer);
  }
  draw();
  return undefined;
}

function setClock({ headers }) {
  const date = Date.parse(headers.get("date"));
  if (!Number.isNaN(date)) ahead = date - Date.now();
}

function draw() {
  byId("counted-as").textContent = countedAs() ?? "not known yet";
  drawReset();
  const stop = paid?.stopped && stopped(paid.message);
  byId("stopped").replaceChildren(...(stop ? [verdict("bad", stop.title, stop.text)] : []));
  byId("no-paid").hidden = paid !== null;
  gauge("paid-calls", "Paid calls", paid?.calls && { ...paid.calls, held: 0, unit: calls });
  gauge("paid-spend", "Paid calls, in dollars", paid?.spend && { ...paid.spend, unit: dollars });
  if (demo) gauge("demo-calls", "Demo calls", { used: demo.count, held: 0, cap: demo.cap, remaining: demo.remaining, unit: calls });
  else byId("demo-calls").replaceChildren(title("demo-calls", "Demo calls", "make a call to see"));
}

function title(id, name, state) {
  return make("p", { className: "gauge-title" }, make("span", { id: id + "-name" }, name), make("span", { className: "left" }, state));
}

// gauge draws one budget. What is held is apart from what is used.
function gauge(id, name, budget) {
  const place = byId(id);
  place.hidden = !budget;
  if (!budget) return;
  const { used, held, cap, remaining, unit } = budget;
  // The least that is drawn can still be seen.
  const share = (part) => (Number(part) > 0 ? Math.min(100, Math.max(1, (100 * Number(part)) / Number(cap))) + "%" : "0%");
  const plain = (amount) => (unit === calls ? String(amount) : unit(amount));
  const parts = [`${plain(used)} used`];
  if (Number(held) > 0) parts.push(`${plain(held)} held`);
  parts.push(`of ${plain(cap)}`);
  const bar = make(
    "div",
    {
      className: "bar",
      role: "meter",
      "aria-labelledby": id + "-name",
      "aria-valuemin": "0",
      "aria-valuemax": Number(cap),
      "aria-valuenow": Math.min(Number(cap), Number(used) + Number(held)),
      "aria-valuetext": `${parts.join(", ").replace(", of", " of")}, ${plain(remaining)} left`,
    },
    make("span", { className: "used" }),
    make("span", { className: "held" }),
  );
  bar.style.setProperty("--used", share(used));
  bar.style.setProperty("--held-share", share(held));
  place.classList.toggle("empty", Number(remaining) === 0);
  place.replaceChildren(
    title(id, name, make("span", {}, make("b", {}, plain(remaining)), " left")),
    bar,
    make("p", { className: "gauge-parts" }, parts.join(" · ").replace(" · of", " of")),
  );
}

function drawReset() {
  const at = demo?.resetAt ?? paid?.resetAt;
  const place = byId("resets");
  if (!at) {
    place.textContent = "at 00:00 UTC";
    return;
  }
  const left = (Date.parse(at) - Date.now() - ahead) / 1000;
  const local = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  place.dateTime = at;
  place.textContent = `at ${local} your time, in ${wait(left)}`;
  if (left <= 0) newDay();
}

let asking = false;

// newDay forgets yesterday's counts.
async function newDay() {
  if (asking) return;
  asking = true;
  demo = undefined;
  if (paid) paid = undefined;
  await refresh();
  asking = false;
}

export function start() {
  draw();
  setInterval(drawReset, 1000);
  const outcome = byId("bucket-outcome");
  onClick(byId("refresh"), async () => {
    const problem = await refresh();
    outcome.replaceChildren(...(problem ? [verdict("bad", problem.title, problem.text)] : []));
    if (!problem) say("Your bucket is up to date.");
  });
  onClick(byId("count-one"), async () => {
    const answer = await callDemo();
    if (answer.status === 200 && counted(answer)) {
      outcome.replaceChildren(verdict("good", `Counted: call ${answer.json.count} of ${answer.json.cap}.`, ""));
    } else {
      const { title, text } = explain(answer);
      outcome.replaceChildren(verdict("bad", title, text));
    }
  });
  return refresh().then((problem) => {
    if (problem) outcome.replaceChildren(verdict("bad", problem.title, problem.text));
  });
}
