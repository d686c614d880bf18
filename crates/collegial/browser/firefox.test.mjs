// The explorer's page in Firefox, on a desktop's width and a phone's, over WebDriver BiDi.
//
// COLLEGIAL names the program, FIREFOX the browser; with SHOTS, a folder, there are pictures, dark ones
// with DARK.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

// Node.js has a WebSocket of its own from 22 on only.
const { ws: WebSocket } = createRequire(import.meta.url)("playwright-core/lib/utilsBundle");
const program = process.env.COLLEGIAL ?? "target/debug/collegial";
const profile = mkdtempSync(join(tmpdir(), "firefox-"));
let server, address, firefox, socket, context;

/** The first match in what a process prints. */
const printed = (stream, pattern) => new Promise((resolve, reject) => {
  let text = "";
  stream.on("data", (more) => { text += more; const found = text.match(pattern); if (found) resolve(found[1]); });
  stream.once("end", () => reject(new Error(`nothing like ${pattern} in: ${text}`)));
});

/** A command of the protocol. */
let asked = 0;
const send = (method, params = {}) => new Promise((resolve, reject) => {
  const id = ++asked;
  const answered = (message) => {
    const { id: of, result, error, message: why } = JSON.parse(message);
    if (of !== id) return;
    socket.off("message", answered);
    if (error) reject(new Error(`${method}: ${error}: ${why}`));
    else resolve(result);
  };
  socket.on("message", answered);
  socket.send(JSON.stringify({ id, method, params }));
});

/** What an expression is in the page; promises are waited for. */
async function evaluate(expression) {
  const { result, exceptionDetails } = await send("script.evaluate", { expression, target: { context }, awaitPromise: true });
  if (exceptionDetails) throw new Error(exceptionDetails.text);
  return result.value;
}

/** Until an expression holds. */
async function until(expression) {
  for (const end = Date.now() + 120_000; !(await evaluate(`Boolean(${expression})`)); await new Promise((resolve) => setTimeout(resolve, 50))) {
    assert.ok(Date.now() < end, `never: ${expression}`);
  }
}
const settled = () => until('document.querySelector("#results[aria-busy=false]") && document.getElementById("width-value").textContent.includes(":")');
const text = (id) => evaluate(`document.getElementById("${id}").innerText`);

before(async () => {
  server = spawn(program, ["explore", "resnet50", "--no-browser"], { stdio: ["ignore", "pipe", "ignore"] });
  address = await printed(server.stdout, /(http\S+)/);
  if (process.env.DARK) writeFileSync(join(profile, "user.js"), 'user_pref("layout.css.prefers-color-scheme.content-override", 0);\n');
  firefox = spawn(process.env.FIREFOX ?? "firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  const port = await printed(firefox.stderr, /WebDriver BiDi listening on (ws:\S+)/);
  socket = new WebSocket(`${port}/session`);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  await send("session.new", { capabilities: {} });
  context = (await send("browsingContext.getTree")).contexts[0].context;
});

after(async () => {
  const ended = new Promise((resolve) => firefox.once("exit", resolve));
  await send("browser.close").catch(() => firefox.kill());
  await ended;
  server?.kill("SIGINT");
  rmSync(profile, { recursive: true, force: true });
});

for (const [screen, width, height] of [["desktop", 1280, 900], ["phone", 390, 844]]) {
  test(`on a ${screen} the answer is shown, the slider moves it, and nothing is cut off`, async () => {
    const { primal, primal_model } = JSON.parse(execFileSync(program, ["search", "resnet50", "--json"], { encoding: "utf8" }));
    await send("browsingContext.setViewport", { context, viewport: { width, height } });
    // A page of its own for each: an address that differs behind the # alone loads nothing.
    await send("browsingContext.navigate", { context, url: "about:blank", wait: "complete" });
    await send("browsingContext.navigate", { context, url: address, wait: "complete" });
    await settled();
    assert.deepEqual([await text("primal-design"), await text("primal-ratio")], [primal_model, `${primal.score_ratio.toFixed(2)} ×`]);
    const [content, room] = JSON.parse(await evaluate("JSON.stringify([document.documentElement.scrollWidth, innerWidth])"));
    assert.ok(content <= room, `${content} of ${room}`);
    if (process.env.SHOTS) {
      await until('document.querySelector("#design-kernels-plot svg.plot")');
      const { data } = await send("browsingContext.captureScreenshot", { context, origin: "document" });
      writeFileSync(join(process.env.SHOTS, `firefox-${screen}.png`), Buffer.from(data, "base64"));
    }
    await evaluate('{ const slider = document.getElementById("width"); slider.value = 700; slider.dispatchEvent(new Event("input", { bubbles: true })); }');
    await settled();
    const chosen = Number(await evaluate("new URLSearchParams(location.hash.slice(1)).get('width')"));
    const there = JSON.parse(execFileSync(program, ["search", "resnet50", "--widths", String(chosen), "--json"], { encoding: "utf8" }));
    assert.notEqual(there.primal_model, primal_model);
    assert.deepEqual([await text("primal-design"), await text("primal-ratio")], [there.primal_model, `${there.primal.score_ratio.toFixed(2)} ×`]);
  });
}
