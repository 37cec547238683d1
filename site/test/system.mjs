// Starts the system on free ports of loopback, and a browser on its page.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({
    executablePath: process.env.SPENDCAP_TEST_CHROMIUM,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
}

// start runs `spendcap dev` with the operator's file, or the one that ships with it.
// It ends with the test.
export async function start(t, file) {
  const args = ["dev", "--edge", "127.0.0.1:0", "--origin", "127.0.0.1:0"];
  if (file) {
    const dir = mkdtempSync(join(tmpdir(), "spendcap-page-"));
    t.after(() => rmSync(dir, { recursive: true }));
    writeFileSync(join(dir, "spendcap.yaml"), file);
    args.push("--config", join(dir, "spendcap.yaml"));
  }
  const dev = spawn(process.env.SPENDCAP_TEST_PROGRAM, args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => dev.on("exit", resolve));
  t.after(async () => {
    dev.kill("SIGKILL"); // it would wait for the browser's idle connections
    await ended;
  });
  let banner = "";
  let errors = "";
  dev.stderr.on("data", (data) => (errors += data));
  await new Promise((resolve, reject) => {
    dev.stdout.on("data", (data) => {
      banner += data;
      if (banner.includes("Ctrl-C")) resolve();
    });
    dev.on("exit", (code) => reject(new Error(`spendcap dev ended with ${code}: ${errors}`)));
  });
  return {
    edge: /^edge +(\S+)/m.exec(banner)[1],
    sideDoor: /^side door +(\S+)/m.exec(banner)[1],
    curls: [...banner.matchAll(/^ +(curl .*)$/gm)].map((found) => found[1]),
  };
}

// Page is a page with everything that it asked and that the browser said about it.
export class Page {
  static async open(t, browser, system, { mock, ready = true, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", timezoneId: "Europe/Berlin", locale: "en-GB", ...options });
    const it = new Page();
    it.system = system;
    it.context = context;
    it.requests = [];
    it.messages = [];
    it.refused = []; // what the browser notes in the console by itself
    it.tab = await context.newPage();
    t.after(() => context.close());
    await it.tab.addInitScript(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
    it.tab.on("request", (request) => it.requests.push(request));
    const answered = new Set(); // also where the browser then withholds the answer
    it.tab.on("response", (response) => {
      answered.add(response.request());
      if (response.status() >= 400) it.refused.push(`${response.status()} ${response.url()}`);
    });
    it.tab.on("requestfailed", (request) => answered.has(request) || it.refused.push(`failed ${request.url()}`));
    it.tab.on("console", (message) => it.messages.push(message));
    it.tab.on("pageerror", (error) => it.messages.push({ text: () => String(error), location: () => ({ url: "" }) }));
    if (mock) await mock(it.tab);
    await it.tab.goto(system.edge);
    if (ready) {
      await it.tab.locator("#door-run").waitFor();
      await it.tab.locator("#chat, #no-chat").filter({ visible: true }).waitFor();
      await it.tab.locator("#paid-calls, #paid-spend, #no-paid, #bucket-outcome p").filter({ visible: true }).first().waitFor();
    }
    return it;
  }

  at(id) {
    return this.tab.locator("#" + id);
  }

  // text is what is shown, with its spaces in one form.
  async text(id) {
    return (await this.at(id).innerText()).replace(/\s+/g, " ").trim();
  }

  // press clicks a button and returns what the place for its outcome then says.
  async press(button, outcome) {
    await this.at(button).click();
    return this.settled(button, outcome);
  }

  async settled(button, outcome) {
    await this.tab.locator(`#${button}:not([aria-disabled])`).waitFor();
    return this.text(outcome);
  }

  async answers(pattern, answer) {
    await this.tab.route(pattern, (route) => (answer === "abort" ? route.abort("connectionrefused") : route.fulfill(answer)));
  }

  // sound asserts that the page asked nobody else, broke no rule of its policy and was
  // not complained about. A browser notes answers of 400 and more, and connections that
  // fail, by itself: each has to be one that was seen.
  async sound() {
    const { edge, sideDoor } = this.system;
    for (const request of this.requests) {
      const url = request.url();
      assert.ok(url.startsWith(edge + "/") || url === sideDoor + "/api/demo/cap", `the page asked ${url}`);
    }
    assert.deepEqual(await this.tab.evaluate(() => window.violations), []);
    const noted = this.messages.map((message) => {
      const status = /^Failed to load resource: the server responded with a status of (\d+)/.exec(message.text())?.[1];
      const failed = /^Failed to load resource: net::/.test(message.text());
      assert.ok(status || failed, `the console says: ${message.text()}`);
      return `${status ?? "failed"} ${message.location().url}`;
    });
    assert.deepEqual(noted.sort(), [...this.refused].sort());
    assert.deepEqual(await this.context.cookies(), []);
    assert.deepEqual(await this.tab.evaluate(async () => [localStorage.length, sessionStorage.length, (await indexedDB.databases()).length, (await caches.keys()).length]), [0, 0, 0, 0]);
  }

  // accessible asserts that axe finds nothing, and that nothing is cut off or scrolls
  // sideways.
  async accessible(what) {
    const found = await this.tab.evaluate(async (source) => {
      if (!window.axe) (0, eval)(source);
      const { violations, passes } = await window.axe.run(document, { resultTypes: ["violations"] });
      return { passes: passes.length, violations: violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join(" ")}`) };
    }, axe);
    assert.deepEqual(found.violations, [], what);
    assert.ok(found.passes > 20, what);
    await this.fits(what);
  }

  async fits(what) {
    const wide = await this.tab.evaluate(() => {
      const width = document.documentElement.clientWidth;
      return [...document.querySelectorAll("body *")]
        .filter((e) => !e.closest(".hidden") && (e.getBoundingClientRect().right > width + 0.5 || e.getBoundingClientRect().left < -0.5))
        .map((e) => e.outerHTML.slice(0, 80))
        .concat(document.documentElement.scrollWidth > width ? ["the page scrolls sideways"] : []);
    });
    assert.deepEqual(wide, [], what);
  }

  async shot(name) {
    if (process.env.SPENDCAP_TEST_SCREENSHOTS) {
      await this.tab.screenshot({ path: join(process.env.SPENDCAP_TEST_SCREENSHOTS, name + ".png"), fullPage: true });
    }
  }
}
