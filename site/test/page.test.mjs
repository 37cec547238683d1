// The demo page in a browser, against the local system. scripts/test-page runs it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, Page, start } from "./system.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const one = (callerCalls, globalCalls = 100) => `
caps:
  caller: {calls: ${callerCalls}, usd: 0.05}
  global: {calls: ${globalCalls}, usd: 5.00}
demo: {calls: 10}
llm:
  provider: demo
  max_input_bytes: 1000
  models:
    - {name: first, input_usd_per_million: 0.15, output_usd_per_million: 0.60, max_output_tokens: 300}
    - {name: second, input_usd_per_million: 1, output_usd_per_million: 2, max_output_tokens: 30}
`;

const json = (status, body, headers = {}) => ({ status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
const html = (status) => ({ status, headers: { "content-type": "text/html", server: "CloudFront" }, body: "<html><h1>ERROR</h1></html>" });

async function ask(page, question) {
  await page.at("question").fill(question);
  return page.press("send", "chat-outcome");
}

test("the bucket is shown, and a demo call counts", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  assert.equal(await page.text("counted-as"), "127.0.0.1");
  assert.match(await page.text("resets"), /^at 01:00 your time, in (\d+ hours?)?( ?\d+ minutes?)?$/);
  assert.equal(await page.text("paid-calls"), "Paid calls 10 left 0 used of 10");
  assert.equal(await page.text("paid-spend"), "Paid calls, in dollars $0.05 left $0.00 used of $0.05");
  assert.equal(await page.text("demo-calls"), "Demo calls make a call to see");
  for (const n of [1, 2]) {
    assert.equal(await page.press("count-one", "bucket-outcome"), `Counted: call ${n} of 10.`);
    assert.equal(await page.text("demo-calls"), `Demo calls ${10 - n} left ${n} used of 10`);
  }
  const meter = page.tab.getByRole("meter", { name: "Demo calls" });
  assert.equal(await meter.getAttribute("aria-valuenow"), "2");
  assert.equal(await meter.getAttribute("aria-valuemax"), "10");
  assert.equal(await meter.getAttribute("aria-valuetext"), "2 used of 10, 8 left");
  await page.press("refresh", "bucket-outcome");
  await page.at("said").filter({ hasText: "Your bucket is up to date." }).waitFor();
  assert.equal(await page.text("bucket-outcome"), "");
  await page.sound();
});

test("what is held is drawn apart from what is used", async (t) => {
  const page = await Page.open(t, browser, await start(t), {
    mock: (tab) =>
      tab.route("**/api/cap", (route) =>
        route.fulfill(json(200, {
          countedAs: "2001:db8::/64",
          spend: { used: "0.010000", held: "0.005000", cap: "0.050000", remaining: "0.035000", currency: "USD" },
          resetAt: "2099-01-01T00:00:00Z",
        })),
      ),
  });
  assert.equal(await page.text("counted-as"), "2001:db8::/64");
  assert.equal(await page.text("paid-spend"), "Paid calls, in dollars $0.035 left $0.01 used · $0.005 held of $0.05");
  assert.equal(await page.at("paid-calls").isVisible(), false); // this cap limits dollars alone
  const meter = page.tab.getByRole("meter", { name: "Paid calls, in dollars" });
  assert.equal(await meter.getAttribute("aria-valuetext"), "$0.01 used, $0.005 held of $0.05, $0.035 left");
  const width = async (part) => (await meter.locator(part).boundingBox()).width;
  const whole = (await meter.boundingBox()).width;
  assert.ok(Math.abs((await width(".used")) / whole - 0.2) < 0.01);
  assert.ok(Math.abs((await width(".held")) / whole - 0.1) < 0.01);
  await page.sound();
});

test("an operator's stop is told along with the bucket", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const bucket = { countedAs: "127.0.0.1", calls: { used: 4, cap: 10, remaining: 6 }, resetAt: "2099-01-01T00:00:00Z" };
  await page.answers("**/api/cap", json(200, { ...bucket, stopped: true, message: "Back on Monday." }));
  assert.equal(await page.press("refresh", "stopped"), "Switched off by the operator. Back on Monday.");
  assert.equal(await page.text("paid-calls"), "Paid calls 6 left 4 used of 10");
  await page.accessible("stopped");
  await page.answers("**/api/cap", json(200, bucket));
  assert.equal(await page.press("refresh", "stopped"), "");
  await page.sound();
});

test("a new day is a new bucket", async (t) => {
  const day = (used, resetAt) => json(200, { countedAs: "127.0.0.1", calls: { used, cap: 10, remaining: 10 - used }, resetAt }, { date: "Mon, 30 Nov 2026 23:58:30 GMT" });
  const page = await Page.open(t, browser, await start(t), {
    ready: false,
    mock: async (tab) => {
      await tab.clock.install({ time: "2026-11-30T23:50:00Z" }); // the viewer's clock is wrong
      let times = 0;
      await tab.route("**/api/cap", (route) => route.fulfill(times++ ? day(0, "2026-12-02T00:00:00Z") : day(4, "2026-12-01T00:00:00Z")));
      await tab.route("**/api/demo/cap", (route) =>
        route.fulfill(json(200, { capped: false, countedAs: "127.0.0.1", count: 3, cap: 10, remaining: 7, resetAt: "2026-12-01T00:00:00Z", ignored: {} }, { date: "Mon, 30 Nov 2026 23:58:30 GMT" })),
      );
    },
  });
  await page.tab.getByText("4 used of 10").waitFor();
  await page.press("count-one", "bucket-outcome");
  assert.equal(await page.text("resets"), "at 01:00 your time, in 2 minutes");
  await page.tab.clock.runFor(60_000);
  assert.match(await page.text("resets"), /^at 01:00 your time, in (29|30|31) seconds$/);
  await page.tab.clock.runFor(32_000);
  await page.tab.getByText("0 used of 10").waitFor();
  assert.equal(await page.text("demo-calls"), "Demo calls make a call to see");
  await page.sound();
});

test("the three attacks are sent and change nothing", async (t) => {
  const system = await start(t);
  const page = await Page.open(t, browser, system);
  await page.context.grantPermissions(["clipboard-read", "clipboard-write"]);

  const attacks = ["forwarded", "viewer", "door"];
  for (const [i, id] of attacks.entries()) {
    assert.equal(await page.text(id + "-curl"), system.curls[i]);
    await page.press(id + "-copy", id + "-copy");
    assert.equal(await page.tab.evaluate(() => navigator.clipboard.readText()), system.curls[i]);
    assert.equal(await page.text(id + "-copy"), "Copied");
  }

  // The first is compared with an honest call.
  assert.match(
    await page.press("forwarded-run", "forwarded-outcome"),
    /^No effect\. Still counted as 127\.0\.0\.1: 1 before, now 2 of 10\. Sent POST \/api\/demo\/cap X-Forwarded-For: 203\.0\.113\.99 Came back 200 \{ "capped": false, "countedAs": "127\.0\.0\.1", "count": 2, .*"x-forwarded-for": "203\.0\.113\.99, 127\.0\.0\.1/,
  );
  assert.match(
    await page.press("viewer-run", "viewer-outcome"),
    /^No effect\. Still counted as 127\.0\.0\.1: 2 before, now 3 of 10\. Sent POST \/api\/demo\/cap CloudFront-Viewer-Address: 203\.0\.113\.99:1234 Came back 200 /,
  );
  assert.equal(
    await page.press("door-run", "door-outcome"),
    "It answered, and your browser keeps the answer to itself. The command above shows it: 401 not_via_cloudfront. " +
      `Sent POST ${system.sideDoor}/api/demo/cap Not sent CloudFront-Viewer-Address A browser would have to ask the side door first, which answers 401 to that too. ` +
      "Came back An answer that browsers hide from pages of another site.",
  );

  const posts = page.requests.filter((r) => r.method() === "POST");
  const headers = await Promise.all(posts.map((r) => r.allHeaders()));
  assert.deepEqual(
    posts.map((r, i) => [r.url(), headers[i]["x-forwarded-for"], headers[i]["cloudfront-viewer-address"]]),
    [
      [system.edge + "/api/demo/cap", undefined, undefined],
      [system.edge + "/api/demo/cap", "203.0.113.99", undefined],
      [system.edge + "/api/demo/cap", undefined, "203.0.113.99:1234"],
      [system.sideDoor + "/api/demo/cap", undefined, undefined],
    ],
  );
  assert.equal((await posts[3].response()).status(), 401);

  // Also with a full bucket.
  await page.press("burst", "burst-outcome");
  for (const id of ["forwarded", "viewer"]) {
    assert.match(await page.press(id + "-run", id + "-outcome"), /^Refused all the same\. Still counted as 127\.0\.0\.1, whose 10 calls are used up\. The forgery bought nothing\. Sent .* Came back 429 /);
  }
  await page.sound();
});

test("an attack that works is called one", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  await page.press("count-one", "bucket-outcome");
  for (const countedAs of ["203.0.113.99", "198.51.100.7"]) {
    await page.answers("**/api/demo/cap", json(200, { capped: false, countedAs, count: 1, cap: 10, remaining: 9, resetAt: "2099-01-01T00:00:00Z", ignored: {} }));
    assert.match(await page.press("viewer-run", "viewer-outcome"), /^The bucket has changed\./);
  }
  await page.sound();
});

test("an attack without an answer proves nothing", async (t) => {
  const system = await start(t);
  const page = await Page.open(t, browser, system);
  await page.answers("**/api/demo/cap", "abort");
  assert.match(await page.press("forwarded-run", "forwarded-outcome"), /^No answer\./);
  assert.match(await page.press("door-run", "door-outcome"), /^Your browser shows nothing\. .* Came back Nothing that this page may see\.$/);
  await page.sound();

  const unknowing = await Page.open(t, browser, system, { mock: (tab) => tab.route("**/config.json", (route) => route.fulfill(json(200, {}))) });
  assert.match(await unknowing.press("door-run", "door-outcome"), /^Not sent\./);
  assert.equal(await unknowing.text("door-curl"), "curl -i -X POST -H 'CloudFront-Viewer-Address: 203.0.113.99:1234' https://SIDE_DOOR/api/demo/cap");
  await unknowing.sound();
});

test("a burst admits exactly what is left", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const kinds = async () => (await page.tab.locator("#cells li").evaluateAll((all) => all.map((c) => c.className))).reduce((n, kind) => ({ ...n, [kind]: (n[kind] ?? 0) + 1 }), {});
  const legend = async () => [await page.text("burst-admitted"), await page.text("burst-refused"), await page.text("burst-failed")];

  assert.equal(await page.press("burst", "burst-outcome"), "10 admitted, 15 refused, 0 failed otherwise. Exactly the day’s 10 calls, and not one more.");
  assert.deepEqual(await kinds(), { admitted: 10, refused: 15 });
  assert.deepEqual(await legend(), ["10", "15", "0"]);
  const heard = await page.tab.locator("#cells li .hidden").allTextContents();
  assert.deepEqual(
    heard.filter((text) => text !== "refused").sort(),
    Array.from({ length: 10 }, (_, i) => `admitted as call ${i + 1}`).sort(),
  );
  assert.equal(await page.text("demo-calls"), "Demo calls 0 left 10 used of 10");
  assert.equal(page.requests.filter((r) => r.method() === "POST").length, 25);

  assert.equal(await page.press("burst", "burst-outcome"), "0 admitted, 25 refused, 0 failed otherwise. The 10 calls of the day were used up before. The next fit tomorrow.");
  await page.sound();
});

test("answers in any order leave the highest count", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  let count = 25;
  await page.tab.route("**/api/demo/cap", (route) =>
    route.fulfill(json(200, { capped: false, countedAs: "127.0.0.1", count, cap: 30, remaining: 30 - count--, resetAt: "2099-01-01T00:00:00Z", ignored: {} })),
  );
  assert.equal(await page.press("burst", "burst-outcome"), "25 admitted, 0 refused, 0 failed otherwise. All that were counted fitted into the 30 calls of the day.");
  assert.equal(await page.text("demo-calls"), "Demo calls 5 left 25 used of 30");
  await page.sound();
});

test("a burst on a bucket in use, and one that breaks", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  for (let n = 0; n < 3; n++) await page.press("count-one", "bucket-outcome");
  assert.equal(await page.press("burst", "burst-outcome"), "7 admitted, 18 refused, 0 failed otherwise. With the 3 from before, that is exactly the day’s 10 calls.");

  let n = 0;
  await page.tab.route("**/api/demo/cap", (route) => (n++ < 5 ? route.fulfill(json(429, { message: "Too Many Requests" })) : route.continue()));
  assert.match(await page.press("burst", "burst-outcome"), /^0 admitted, 20 refused, 5 failed otherwise\. .* Too many requests at once\. /);
  await page.answers("**/api/demo/cap", json(429, { capped: true, scope: "stopped", message: "We are closed." }));
  assert.equal(await page.press("burst", "burst-outcome"), "0 admitted, 25 refused, 0 failed otherwise. Switched off by the operator. We are closed.");
  await page.answers("**/api/demo/cap", "abort");
  assert.match(await page.press("burst", "burst-outcome"), /^0 admitted, 0 refused, 25 failed otherwise\. No answer\./);
  await page.sound();
});

test("a conversation shows what was held, what it cost and what is left", async (t) => {
  const page = await Page.open(t, browser, await start(t, one(10)));
  const asked = [];
  page.tab.on("response", (response) => response.url().endsWith("/completions") && asked.push(response));
  assert.deepEqual(await page.at("model").locator("option").allTextContents(), ["first", "second"]);

  await page.at("question").fill("Hello");
  await page.at("question").press("Shift+Enter");
  await page.tab.keyboard.type("you");
  await page.at("question").press("Enter");
  assert.equal(await page.settled("send", "chat-outcome"), "");
  assert.equal(await page.at("question").inputValue(), "");
  await page.at("model").selectOption("second");
  assert.equal(await ask(page, "<b>Again</b>"), "");

  const money = (exact) => "$" + exact.replace(/(\.\d\d\d*?)0*$/, "$1");
  const cap = await (await page.context.request.get(page.system.edge + "/api/cap")).json();
  let left = 50_000;
  const turns = page.tab.locator("#log .turn");
  assert.equal(await turns.count(), 4);
  for (const [i, response] of asked.entries()) {
    const headers = await response.allHeaders();
    left -= Math.round(Number(headers["x-spendcap-cost"]) * 1e6);
    assert.ok(Number(headers["x-spendcap-held"]) > Number(headers["x-spendcap-cost"]) && Number(headers["x-spendcap-cost"]) > 0);
    const shown = (await turns.nth(2 * i + 1).locator(".receipt").innerText()).replace(/\s+/g, " ");
    assert.equal(shown, `Held before ${money(headers["x-spendcap-held"])} Really cost ${money(headers["x-spendcap-cost"])} Left today ${9 - i} calls, ${money((left / 1e6).toFixed(6))}`);
  }
  assert.equal(cap.spend.remaining, (left / 1e6).toFixed(6));
  assert.equal(await page.text("paid-spend"), `Paid calls, in dollars ${money(cap.spend.remaining)} left ${money(cap.spend.used)} used of $0.05`);
  assert.equal(await turns.nth(0).innerText(), "You\n\nHello\nyou");
  assert.match(await turns.nth(1).innerText(), /^first\n\nI am the demo model of spendcap.* You wrote 9 characters\./);
  assert.equal(await turns.nth(2).innerText(), "You\n\n<b>Again</b>");
  assert.deepEqual(
    asked.map((r) => r.request().postDataJSON()).map(({ model, messages }) => [model, messages.map((m) => m.role)]),
    [["first", ["user"]], ["second", ["user", "assistant", "user"]]],
  );
  const keys = await Promise.all(asked.map((r) => r.request().headerValue("idempotency-key")));
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.notEqual(keys[0], keys[1]);

  await page.at("start-over").click();
  assert.equal(await turns.count(), 0);
  assert.equal(await page.tab.evaluate(() => document.activeElement.id), "question");
  await page.sound();
});

test("what a model says is text", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const evil = `<img src=x onerror="document.title='caught'"><script>document.title='caught'</script>`;
  await page.answers("**/completions", json(200, { model: evil, choices: [{ message: { content: evil } }] }));
  await ask(page, evil);
  assert.equal(await page.tab.locator("#log img, #log script").count(), 0);
  assert.equal((await page.tab.locator("#log .speech").allTextContents()).join(), [evil, evil].join());
  assert.notEqual(await page.tab.title(), "caught");
  await page.answers("**/api/demo/cap", json(200, { capped: false, countedAs: evil, count: 1, cap: 10, remaining: 9, resetAt: "2099-01-01T00:00:00Z", ignored: { "x-forwarded-for": evil } }));
  await page.press("forwarded-run", "forwarded-outcome");
  assert.equal(await page.text("counted-as"), evil);
  await page.sound();
});

test("what a call cost may be unknown, or nothing", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const answer = (headers) => json(200, { choices: [{ message: { content: "" } }] }, headers);
  const receipt = async () => (await page.tab.locator("#log .turn").last().innerText()).replace(/\s+/g, " ");
  await page.answers("**/completions", answer({ "x-spendcap-held": "0.001000" }));
  await ask(page, "a");
  assert.equal(await receipt(), "demo-small (The answer has no text.) Held before $0.001 Really cost not known Left today 10 calls, $0.05 What it cost is not known, so the $0.001 that was held for it stays taken until the day ends.");
  await page.answers("**/completions", answer({ "idempotent-replayed": "true" }));
  await ask(page, "b");
  assert.match(await receipt(), /Held before nothing Really cost nothing Left today .* It was not paid again\.$/);
  await page.answers("**/api/cap", html(504));
  await page.answers("**/completions", answer({ "x-spendcap-held": "0.001000", "x-spendcap-cost": "0.000500" }));
  await ask(page, "c");
  assert.match(await receipt(), /Held before \$0\.001 Really cost \$0\.0005 Left today not known$/);
  await page.sound();
});

for (const [what, lost, words] of [
  ["was lost", (route) => route.abort("connectionreset"), /^No answer\. /],
  ["came too late for the gateway", (route) => route.fulfill(json(503, { message: "Service Unavailable" })), /^The API is overloaded\. /],
]) test(`a call whose answer ${what} is sent again with its key, and is not paid twice`, async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const keys = [];
  let times = 0;
  await page.tab.route("**/completions", async (route) => {
    keys.push(await route.request().headerValue("idempotency-key"));
    if (times++ > 0) return route.continue();
    await route.fetch(); // it arrives, and its answer does not
    return lost(route);
  });
  assert.match(await ask(page, "Hello"), words);
  assert.equal(await page.text("paid-calls"), "Paid calls 9 left 1 used of 10");
  assert.equal(await page.press("send", "chat-outcome"), "");
  assert.match((await page.tab.locator("#log .turn").last().innerText()), /It was not paid again\.$/);
  assert.equal(await page.text("paid-calls"), "Paid calls 9 left 1 used of 10");
  await ask(page, "Something else");
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[1], keys[2]);
  await page.sound();
});

test("without a model, and without a paid budget", async (t) => {
  const page = await Page.open(t, browser, await start(t, "demo: {calls: 3}\n"));
  assert.equal(await page.text("no-chat"), "No model is switched on here. To turn it on, give spendcap.yaml the sections caps and llm; the provider demo needs no account and costs nothing.");
  assert.equal(await page.at("chat").isVisible(), false);
  assert.equal(await page.text("no-paid"), "There is no paid budget here: the operator’s file has no caps.");
  assert.equal(await page.text("counted-as"), "not known yet");
  assert.equal(await page.text("resets"), "at 00:00 UTC");
  assert.equal(await page.press("burst", "burst-outcome"), "3 admitted, 22 refused, 0 failed otherwise. Exactly the day’s 3 calls, and not one more.");
  assert.equal(await page.text("counted-as"), "127.0.0.1");
  await page.accessible("without a model");
  await page.sound();
});

test("refusals of the real system are in plain words", async (t) => {
  const page = await Page.open(t, browser, await start(t, one(1)));
  assert.match(await ask(page, "x".repeat(1001)), /^Too long\. .*1000 bytes.* Nothing was counted\. Ask something shorter, or start over\.$/);
  assert.equal(await page.text("paid-calls"), "Paid calls 1 left 0 used of 1");
  await ask(page, "Hello");
  assert.match(await ask(page, "Hello"), /^Your cap is reached\. You have used today's 1 call\. Try again in .*\. Nothing was taken\.$/);
  await page.press("burst", "burst-outcome");
  assert.match(await page.press("count-one", "bucket-outcome"), /^Your cap is reached\. You have used today's 10 calls\. Try again in .*\. Nothing was taken\.$/);
  await page.sound();

  const full = await Page.open(t, browser, await start(t, one(5, 1)));
  await ask(full, "Hello");
  assert.match(await ask(full, "Hello"), /^The cap for everybody is reached\. Today's budget for everybody is used up\. Try again in .*\. Your own bucket was left as it was\.$/);
  assert.equal(await full.text("paid-calls"), "Paid calls 4 left 1 used of 5");
  await full.sound();
});

const failure = (message, more = {}, extra = {}) => ({ error: { message, type: "x", code: null, param: null, ...more }, ...extra });
const refusals = [
  [json(401, { error: "not_via_cloudfront" }), /^Refused at the side door\. .*Nothing was counted\./],
  [json(401, { error: "no_viewer_address" }), /^Refused: nobody to count\. .*Nothing was counted\./],
  [json(401, { error: "cross_origin" }), /^Refused: sent by another site\. /],
  [json(401, { error: "not_signed_in" }), /^Only for those who are signed in\. /],
  [json(401, { error: "no_tier" }), /^Refused: no tier\. /],
  [json(401, { error: "no_user" }), /^Refused: no user\. /],
  [json(401, { message: "Unauthorized" }), /^Refused: not authorised\. Unauthorized$/],
  [json(401, failure("No.", { code: "other" })), /^Refused: not authorised\. No\.$/],
  [json(404, { error: "not_found" }), /^There is no such call here\. The operator’s file leaves it out\./],
  [json(404, { message: "Not Found" }), /^There is no such call here\./],
  [json(405, { error: "method_not_allowed" }), /^Refused: wrong method\. \/api\/\S+ does not take POST\./],
  [json(409, failure("Running.", { code: "idempotency_key_in_use" })), /^Still running\. .*not paid twice/],
  [json(409, failure("Not kept.", { code: "answer_not_kept" })), /^Already answered\. .*not paid again\.$/],
  [json(413, failure("Too large: at most 8000 bytes.", { code: "request_too_large" })), /^Too long\. Too large: at most 8000 bytes\. Nothing was counted\./],
  [json(413, { message: "Request Entity Too Large" }), /^Too long\./],
  [json(422, failure("The field n is not carried.", { code: "unsupported_parameter", param: "n" })), /^This call cannot be priced, so it was not made\. The field n is not carried\. Nothing was counted\.$/],
  [json(429, failure("You have used today's 10 calls. Try again in 1 hour.", { code: "budget_exceeded", scope: "caller" }, { capped: true, scope: "caller", retryAfter: 3600 })), /^Your cap is reached\. You have used today's 10 calls\. Try again in 1 hour\. Nothing was taken\.$/],
  [json(429, { capped: true, scope: "caller", retryAfter: 5400 }), /^Your cap is reached\. Try again in 1 hour 30 minutes\. Nothing was taken\.$/],
  [json(429, failure("Today's budget for everybody is used up. Try again in 1 hour.", {}, { capped: true, scope: "global", retryAfter: 3600 })), /^The cap for everybody is reached\. Today's budget for everybody is used up\. Try again in 1 hour\. Your own bucket was left as it was\.$/],
  [json(429, { capped: true, scope: "address", message: "Too many of you." }), /^The cap of your network address is reached\. Too many of you\. Your own bucket was left as it was\.$/],
  [json(429, { capped: true, scope: "stopped", message: "Back on Monday." }), /^Switched off by the operator\. Back on Monday\.$/],
  [json(429, failure("Back on Monday.", { code: "stopped", capped: true, scope: "stopped", retryAfter: 60 }, { capped: true, scope: "stopped", retryAfter: 60 })), /^Switched off by the operator\. Back on Monday\.$/],
  [json(429, { capped: true, scope: "stopped" }), /^Switched off by the operator\. Nothing is called until it is switched on again\.$/],
  [json(429, { capped: true, scope: "blocked", message: "Write to us." }), /^Blocked by the operator\. Write to us\.$/],
  [json(429, { capped: true, scope: "blocked" }), /^Blocked by the operator\. Calls from your address/],
  [json(429, { capped: true, scope: "rate", message: "Slowly." }), /^Refused for now\. Slowly\.$/],
  [json(429, { capped: true, scope: "rate", retryAfter: 20 }), /^Refused for now\. Try again in 20 seconds\.$/],
  [json(429, failure("The model gets too many requests at the moment. Try again later."), { "x-spendcap-held": "0.001000", "x-spendcap-cost": "0.000000" }), /^The model is busy\. The model gets too many requests at the moment\. Try again later\. It cost nothing: what was held has been given back\.$/],
  [json(429, { message: "Too Many Requests" }), /^Too many requests at once\. The API’s own fuse/],
  [json(500, { error: "internal_error" }), /^Something broke\. .*the cap is safe/],
  [json(502, failure("The connection to the model was lost."), { "x-spendcap-held": "0.001000" }), /^The model failed\. The connection to the model was lost\. What it cost is not known, so the \$0\.001 that was held for it stays taken until the day ends\.$/],
  [json(502, failure("The model cannot be reached."), { "x-spendcap-held": "0.001000", "x-spendcap-cost": "0.000000" }), /^The model failed\. The model cannot be reached\. It cost nothing/],
  [json(502, failure("The model failed."), { "x-spendcap-held": "0.001000", "x-spendcap-cost": "0.000300" }), /^The model failed\. It cost \$0\.0003\.$/],
  [json(504, failure("The model took too long.")), /^The model took too long\. What it cost is not known\. If it was made/],
  [json(503, { error: "store_unavailable" }), /^The budget cannot be checked right now\. So nothing was called and nothing was spent/],
  [json(503, failure("The budget cannot be checked right now.", { code: "store_unavailable" })), /^The budget cannot be checked right now\./],
  [json(503, { message: "Service Unavailable" }), /^The API is overloaded\./],
  [json(418, { message: "Short and stout." }), /^The answer was 418\. Short and stout\.$/],
  [json(418, {}), /^The answer was 418\. This page does not know/],
  [html(403), /^The edge answered instead of the API \(403\)\. CloudFront, or a firewall/],
  [html(404), /^The edge answered instead of the API \(404\)\. There is no API behind this page\.$/],
  [html(413), /^The edge answered instead of the API \(413\)\. The request is too large\./],
  [html(429), /^The edge answered instead of the API \(429\)\. Too many requests/],
  [html(502), /^The edge answered instead of the API \(502\)\. CloudFront could not reach the API\./],
  [html(503), /^The edge answered instead of the API \(503\)\. The API is overloaded\./],
  [html(504), /^The edge answered instead of the API \(504\)\. The API did not answer in time\./],
  [html(520), /^The edge answered instead of the API \(520\)\. The answer is not from the API, it is from CloudFront\./],
  [{ status: 502, headers: { "content-type": "text/plain" }, body: "the origin could not be reached" }, /^The edge answered instead of the API \(502\)\./],
  [html(200), /^The answer makes no sense\./],
  [{ status: 200, headers: { "content-type": "application/json" }, body: "[1]" }, /^The answer makes no sense\./],
  ["abort", /^No answer\. The connection failed or was cut\./],
];

test("every refusal is in plain words, wherever it comes", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  await page.at("question").fill("Hello");
  for (const [answer, words] of refusals) {
    await page.answers("**/completions", answer);
    await page.answers("**/api/demo/cap", answer);
    for (const [button, outcome] of [["send", "chat-outcome"], ["count-one", "bucket-outcome"]]) {
      await page.at(button).evaluate((b) => b.click());
      assert.match(await page.settled(button, outcome), words);
    }
    assert.equal(await page.at("question").inputValue(), "Hello"); // to be sent again
  }
  await page.accessible("after a refusal");
  await page.sound();
});

const garbage = [
  json(200, { data: "x", calls: 5, spend: "x", countedAs: {}, resetAt: {}, choices: 5, count: 1 }),
  json(200, { data: [null, 5], choices: [null], model: {}, count: 2, resetAt: "never", countedAs: "<i>x</i>" }),
  json(401, { error: "constructor" }),
  json(429, { scope: {}, message: [1], retryAfter: "soon" }),
  json(502, { message: { a: 1 }, error: 5 }),
  { status: 200, headers: { "content-type": "application/json" }, body: "null" },
];

test("answers that nobody would write break nothing", async (t) => {
  const system = await start(t);
  for (const answer of garbage) {
    const page = await Page.open(t, browser, system, { ready: false, mock: (tab) => tab.route("**/api/**", (route) => route.fulfill(answer)) });
    const errors = [];
    page.tab.on("pageerror", (error) => errors.push(error.message));
    await page.tab.reload();
    await page.tab.locator("#door-run").waitFor();
    for (const [button, outcome] of [["refresh", "bucket-outcome"], ["count-one", "bucket-outcome"], ["burst", "burst-outcome"], ["forwarded-run", "forwarded-outcome"]]) {
      await page.at(button).evaluate((b) => b.click());
      const said = await page.settled(button, outcome);
      assert.doesNotMatch(said, /undefined|function|\[object/, `${answer.body}: ${said}`);
    }
    assert.deepEqual(errors, [], answer.body);
    assert.equal(await page.tab.locator("i").count(), 0);
    // When the system is back, so is the page.
    await page.tab.unroute("**/api/**");
    await page.press("refresh", "bucket-outcome");
    assert.equal(await page.text("counted-as"), "127.0.0.1");
  }
});

test("an answer that never comes", async (t) => {
  const page = await Page.open(t, browser, await start(t), {
    mock: (tab) => tab.addInitScript(() => (AbortSignal.timeout = () => AbortSignal.abort(new DOMException("late", "TimeoutError")))),
    ready: false,
  });
  await page.tab.locator("#door-run").waitFor();
  assert.match(await page.press("count-one", "bucket-outcome"), /^No answer in time\. .*may have been counted/);
});

test("a system that is stopped or broken when the page is opened", async (t) => {
  const system = await start(t);
  for (const [answer, words] of [[json(429, { capped: true, scope: "stopped", message: "Back on Monday." }), "Switched off by the operator. Back on Monday."], [html(502), "The edge answered instead of the API (502). CloudFront could not reach the API. Try again in a moment."]]) {
    const page = await Page.open(t, browser, system, { mock: (tab) => tab.route("**/api/**", (route) => route.fulfill(answer)) });
    assert.equal(await page.text("bucket-outcome"), words);
    assert.equal(await page.text("no-chat"), words);
    assert.equal(await page.at("no-paid").isVisible(), false);
    assert.equal(await page.press("refresh", "bucket-outcome"), words);
    await page.tab.unroute("**/api/**");
    assert.equal(await page.press("refresh", "bucket-outcome"), "");
    assert.equal(await page.text("counted-as"), "127.0.0.1");
    await page.accessible("stopped");
    await page.sound();
  }
});

// fill brings the page into the states that have most in them.
async function fill(page) {
  for (const id of ["forwarded", "viewer", "door"]) await page.press(id + "-run", id + "-outcome");
  await page.press("burst", "burst-outcome");
  await page.press("count-one", "bucket-outcome");
  await ask(page, "What is a spend cap?");
  await ask(page, "And a word that is long: " + "cap".repeat(60));
  await page.answers("**/completions", json(503, { error: "store_unavailable" }));
  await ask(page, "Hello");
}

const widths = [[320, 640], [390, 844], [820, 1180], [1280, 900]]; // phones, a tablet, a desk

for (const colorScheme of ["light", "dark"]) {
  test(`${colorScheme}, on every width`, async (t) => {
    const page = await Page.open(t, browser, await start(t), { colorScheme });
    const ground = await page.tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(ground, colorScheme === "light" ? "rgb(245, 246, 244)" : "rgb(14, 19, 17)");
    for (const state of ["first", "filled"]) {
      if (state === "filled") await fill(page);
      for (const [width, height] of widths) {
        await page.tab.setViewportSize({ width, height });
        if (width === 320 || width === 1280) await page.accessible(`${state}, ${width} pixels`);
        await page.fits(`${state}, ${width} pixels`);
        const broken = await page.tab.locator(".left b, .receipt dd").evaluateAll((all) => all.filter((e) => e.getClientRects().length > 1).map((e) => e.textContent));
        assert.deepEqual(broken, [], `${state}, ${width} pixels: an amount on two lines`);
        await page.shot(`${colorScheme}-${width}-${state}`);
      }
    }
    await page.sound();
  });
}

test("text at twice its size still fits", async (t) => {
  const page = await Page.open(t, browser, await start(t), { viewport: { width: 640, height: 900 } });
  await fill(page);
  await page.tab.evaluate(() => document.documentElement.style.setProperty("font-size", "200%"));
  await page.fits("text at 200 %");
});

test("in forced colours every control is there", async (t) => {
  const page = await Page.open(t, browser, await start(t), { forcedColors: "active" });
  await fill(page);
  await page.accessible("forced colours");
  await page.shot("forced-colors");
  await page.sound();
});

test("a keyboard is enough", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const { keyboard } = page.tab;
  const focused = () => page.tab.evaluate(() => {
    const e = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(e);
    return { id: e.id, seen: outlineStyle === "solid" && parseFloat(outlineWidth) >= 2 };
  });
  const order = ["refresh", "count-one", "forwarded-run", "forwarded-copy", "viewer-run", "viewer-copy", "door-run", "door-copy", "burst", "question", "send", "start-over", "model"];
  for (const id of order) {
    await keyboard.press("Tab");
    assert.deepEqual(await focused(), { id, seen: true });
  }
  const reach = async (id) => {
    for (let n = 0; (await focused()).id !== id; n++) {
      assert.ok(n < 20, `${id} is not reached`);
      await keyboard.press("Shift+Tab");
    }
  };
  await reach("question");
  await keyboard.type("Hello");
  await keyboard.press("Tab");
  await keyboard.press("Space");
  assert.equal(await page.settled("send", "chat-outcome"), "");
  assert.equal(await page.tab.locator("#log .turn").count(), 2);
  assert.equal((await focused()).id, "send");
  for (const [id, key, outcome] of [["burst", "Enter", "burst-outcome"], ["door-run", "Space", "door-outcome"], ["viewer-run", "Enter", "viewer-outcome"], ["count-one", "Space", "bucket-outcome"]]) {
    await reach(id);
    await keyboard.press(key);
    assert.notEqual(await page.settled(id, outcome), "");
    assert.deepEqual(await focused(), { id, seen: true }); // the focus stays
  }
  await page.sound();
});

test("what happens is said to those who listen", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const regions = await page.tab.locator("[role=status], [role=log]").evaluateAll((all) => all.map((e) => e.id));
  assert.deepEqual(regions.sort(), ["bucket-outcome", "burst-outcome", "chat-outcome", "door-outcome", "forwarded-outcome", "log", "said", "stopped", "viewer-outcome"]);
  assert.deepEqual(await page.tab.locator("h1, h2, h3").evaluateAll((all) => all.map((e) => e.tagName + " " + e.textContent)), [
    "H1 The bill stops at the cap.", "H2 Your bucket", "H2 Pretend to be somebody else", "H3 Forge X-Forwarded-For",
    "H3 Forge the viewer address", "H3 Go round the edge", "H2 Come all at once", "H2 Just use it",
  ]);
  // Pressing a button twice while it works is pressing it once.
  await page.tab.route("**/api/demo/cap", async (route) => route.continue());
  await page.at("count-one").evaluate((button) => { button.click(); button.click(); });
  await page.settled("count-one", "bucket-outcome");
  assert.equal(page.requests.filter((r) => r.method() === "POST").length, 1);
});

test("without a clipboard the command is selected", async (t) => {
  const page = await Page.open(t, browser, await start(t), { mock: (tab) => tab.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined })) });
  await page.press("door-copy", "said");
  await page.at("said").filter({ hasText: "Selected. Copy it with Ctrl or Command and C." }).waitFor();
  assert.equal(await page.tab.evaluate(() => getSelection().toString()), page.system.curls[2]);
  await page.sound();
});

test("motion is for those who want it", async (t) => {
  const system = await start(t);
  const moving = async (reducedMotion) => {
    const page = await Page.open(t, browser, system, { reducedMotion });
    await page.tab.evaluate(() => {
      window.moved = 0;
      for (const type of ["animationstart", "transitionrun"]) addEventListener(type, () => window.moved++);
    });
    await page.press("burst", "burst-outcome");
    await page.press("count-one", "bucket-outcome");
    return page.tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.moved)))));
  };
  assert.equal(await moving("reduce"), 0);
  assert.notEqual(await moving("no-preference"), 0);
});

test("without JavaScript the page says so", async (t) => {
  const page = await Page.open(t, browser, await start(t), { javaScriptEnabled: false, ready: false });
  assert.ok(await page.tab.locator("noscript p").isVisible());
});

test("the policy is in force", async (t) => {
  const page = await Page.open(t, browser, await start(t));
  const tried = await page.tab.evaluate(async (edge) => {
    const out = {};
    out.eval = (() => { try { return document.body.insertAdjacentHTML("beforeend", "<i>x</i>"), "done"; } catch (e) { return e.name; } })();
    out.fetch = await fetch(edge.replace("127.0.0.1", "127.0.0.2")).then(() => "done", (e) => e.name);
    const script = document.createElement("script");
    out.script = (() => { try { script.textContent = "window.ran = true"; document.body.append(script); } catch (e) { return e.name; } return window.ran ? "ran" : "did not run"; })();
    return out;
  }, page.system.edge);
  assert.deepEqual(tried, { eval: "TypeError", fetch: "TypeError", script: "TypeError" });
});
