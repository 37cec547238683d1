// A conversation through the guarded API. What a model says is inserted as text.

import { ask } from "./api.js";
import { lastPaid, refresh } from "./bucket.js";
import { byId, make, on, onClick, verdict } from "./dom.js";
import { calls, codeOf, dollars, explain, spent } from "./words.js";

const path = "/api/v1/chat/completions";

let messages = []; // what was said, as the API takes it
let last; // the last request that may not have been answered, and its key

export async function start() {
  const answer = await ask("GET", "/api/v1/models");
  const listed = answer.json?.data;
  const models = Array.isArray(listed) ? listed.map((m) => m?.id).filter((id) => typeof id === "string") : [];
  if (answer.status !== 200 || models.length === 0) {
    noModel(answer);
    return;
  }
  byId("model").replaceChildren(...models.map((id) => make("option", { value: id }, id)));
  byId("chat").hidden = false;
  const question = byId("question");
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    byId("chat").requestSubmit(byId("send"));
  });
  on("submit", byId("chat"), byId("send"), send);
  onClick(byId("start-over"), async () => {
    messages = [];
    last = undefined;
    byId("log").replaceChildren();
    byId("chat-outcome").replaceChildren();
    question.focus();
  });
}

function noModel(answer) {
  const place = byId("no-chat");
  place.hidden = false;
  if (answer.status === 404 && answer.json) {
    place.replaceChildren(
      make("strong", {}, "No model is switched on here."),
      " To turn it on, give ",
      make("code", {}, "spendcap.yaml"),
      " the sections ",
      make("code", {}, "caps"),
      " and ",
      make("code", {}, "llm"),
      "; the provider ",
      make("code", {}, "demo"),
      " needs no account and costs nothing.",
    );
    return;
  }
  const { title, text } = explain(answer);
  place.replaceChildren(make("strong", {}, title), " ", text);
}

async function send() {
  const question = byId("question");
  const text = question.value.trim();
  const outcome = byId("chat-outcome");
  if (!text) {
    question.focus();
    return;
  }
  outcome.replaceChildren(verdict("plain", "Asking…", ""));
  const body = JSON.stringify({ model: byId("model").value, messages: [...messages, { role: "user", content: text }] });
  // A request whose answer was lost has the same key when it is sent again, so that it
  // is not paid twice.
  if (last?.body !== body) last = { body, key: newKey() };
  const answer = await ask("POST", path, { headers: { "Content-Type": "application/json", "Idempotency-Key": last.key }, body });
  const said = string(answer.json?.choices?.[0]?.message?.content);
  const problem = await refresh();
  if (answer.status !== 200 || !answer.json) {
    // What has no code is not from the API: the gateway gave up, and the call may have been
    // made. It then has to have the same key again.
    const code = codeOf(answer);
    if (code !== undefined && code !== "idempotency_key_in_use") last = undefined;
    const { title, text: why } = explain(answer);
    outcome.replaceChildren(verdict("bad", title, why));
    return;
  }
  last = undefined;
  outcome.replaceChildren();
  messages.push({ role: "user", content: text }, { role: "assistant", content: said ?? "" });
  byId("log").append(
    turn("You", text, "you"),
    turn(string(answer.json.model) ?? byId("model").value, said || "(The answer has no text.)", "model-says", receipt(answer, problem ? undefined : lastPaid())),
  );
  question.value = "";
}

const string = (value) => (typeof value === "string" ? value : undefined);

function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

function turn(who, text, className, more) {
  return make("div", { className: "turn " + className }, make("p", { className: "speaker" }, who), make("p", { className: "speech" }, text), more);
}

// receipt is what the call was held for, what it cost, and what is left.
function receipt(answer, budget) {
  const held = answer.headers.get("x-spendcap-held");
  const cost = answer.headers.get("x-spendcap-cost");
  const left = [];
  if (budget?.calls) left.push(calls(budget.calls.remaining));
  if (budget?.spend) left.push(dollars(budget.spend.remaining));
  const item = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  const list = make(
    "dl",
    { className: "receipt" },
    item("Held before", held ? dollars(held) : "nothing"),
    item("Really cost", cost ? dollars(cost) : held ? "not known" : "nothing"),
    item("Left today", left.length ? left.join(", ") : "not known"),
  );
  if (answer.headers.get("idempotent-replayed")) {
    return make("div", {}, list, make("p", { className: "hint" }, "This is the answer to the call that you sent before. It was not paid again."));
  }
  return held && !cost ? make("div", {}, list, make("p", { className: "hint" }, spent(answer))) : list;
}
