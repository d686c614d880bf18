// The page without a server: the same code as WebAssembly gives the same numbers, to the last bit where they are exact.
//
// COLLEGIAL names the program, CHROMIUM the browser, SITE the folder that `cargo xtask site` wrote,
// ADDRESS what it was told of its address.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const program = process.env.COLLEGIAL ?? "target/debug/collegial";
const kinds = { html: "text/html", css: "text/css", js: "text/javascript", wasm: "application/wasm", md: "text/plain", png: "image/png", svg: "image/svg+xml" };
let server, address, browser;

before(async () => {
  server = createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    try {
      const content = readFileSync(join(process.env.SITE, name));
      response.writeHead(200, { "Content-Type": kinds[name.split(".").pop()] }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${server.address().port}/`;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

const answer = (...words) => JSON.parse(execFileSync(program, [...words, "--json"], { encoding: "utf8", maxBuffer: 1 << 26 }));

test("exact answers are the program's to the last bit, with the network off once loaded", async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  await page.goto(`${address}#&model=resnext29-1x128d`);
  await page.waitForSelector("#kernels-plot svg.plot");
  await page.waitForSelector("#results[aria-busy=false]");
  await context.setOffline(true);
  for (const [request, words] of [
    [{ model: "resnext29-1x128d" }, ["resnext29-1x128d"]],
    [{ model: "resnext50-32x4d", cost: "flops", multiple_of: 2 }, ["resnext50-32x4d", "--cost", "flops", "--multiple-of", "2"]],
    [{ model: "resnext29-3x64d", block_inputs: "white", rule: "nearest" }, ["resnext29-3x64d", "--block-inputs", "white", "--rule", "nearest"]],
    [{ model: "fc6-500" }, ["fc6-500"]],
  ]) {
    const given = await page.evaluate(async (request) => (await import("./ask.js")).ask("search", request), request);
    const expected = answer("search", ...words);
    for (const key of ["baseline_score", "primal", "dual", "nearby", "curve", "blocks"]) assert.deepEqual(given[key], expected[key], `${words} ${key}`);
  }
  const { primal_model } = answer("search", "resnext29-1x128d", "--cost", "flops");
  await page.locator("label", { hasText: "FLOPs" }).first().click();
  await page.waitForFunction((name) => document.getElementById("primal-design").textContent === name, primal_model);
  assert.deepEqual(troubles, []);
  await context.close();
});

test("one address per state works for anybody, and a link to it has a picture", async () => {
  const [first, second] = [await browser.newContext(), await browser.newContext()];
  const open = async (context, url) => {
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(url);
    await page.waitForFunction(() => document.getElementById("width-value").textContent.includes(":"));
    await page.waitForSelector("#results[aria-busy=false]");
    return page;
  };
  const page = await open(first, `${address}#&model=resnext50-32x4d&cost=flops`);
  await page.fill("#own", "40x5d");
  await page.press("#own", "Enter");
  await page.waitForFunction(() => document.getElementById("taken").textContent.startsWith("resnext50-40x5d"));
  const link = await page.locator("#link").innerText();
  assert.equal(link, page.url());
  const other = await open(second, link);
  for (const id of ["taken", "export", "torchvision", "timm", "command", "primal-design", "shown"]) {
    assert.equal(await other.locator(`#${id}`).innerText(), await page.locator(`#${id}`).innerText(), id);
  }
  const property = (name) => page.locator(`meta[property="og:${name}"]`).getAttribute("content");
  assert.match(await property("title"), /how many members/);
  assert.match(await property("description"), /without training/);
  // The whole address, which those who show a picture want.
  const image = await property("image");
  assert.ok(/^card\.(png|svg)$/.test(image.replace(process.env.ADDRESS, "")) && image.startsWith(process.env.ADDRESS), image);
  assert.equal(await property("url"), process.env.ADDRESS);
  const [width, height] = await page.evaluate(async (source) => {
    const picture = new Image();
    picture.src = source;
    await picture.decode();
    return [picture.naturalWidth, picture.naturalHeight];
  }, image.replace(process.env.ADDRESS, ""));
  assert.deepEqual([width, height], [1200, 630]);
  await first.close();
  await second.close();
});

test("a dropped file is read and copies are made without a server", async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  const says = (id, text) => page.waitForFunction(([id, text]) => document.getElementById(id).textContent.includes(text), [id, text]);
  await page.goto(`${address}#&model=resnext29-1x128d`);
  await says("width-value", ":");
  await page.waitForSelector("#results[aria-busy=false]");
  await context.setOffline(true);
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  const run = (...words) => execFileSync(program, words, { encoding: "utf8", cwd: folder });
  run("export", "resnext29-2x9d", "--to", "safetensors", "--out", "dropped.safetensors");
  const content = readFileSync(join(folder, "dropped.safetensors")).toString("base64");
  const transfer = await page.evaluateHandle((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], "dropped.safetensors"));
    return transfer;
  }, content);
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  await says("baseline-name", "resnext29-2x9d");
  const { primal_model } = answer("search", "resnext29-2x9d");
  await says("primal-design", primal_model);
  await says("shown", primal_model);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.click("#copy-command");
  await says("status", "Copied the command");
  assert.equal(await clipboard(), "collegial search resnext29-2x9d");
  await page.click("#copy-toml");
  await says("status", "Copied the spec");
  assert.equal(await clipboard(), run("info", primal_model, "--spec"));
  await page.click("#copy-pytorch");
  await says("status", "Copied the PyTorch");
  run("export", primal_model, "--to", "pytorch", "--out", "script.py");
  assert.equal(await clipboard(), readFileSync(join(folder, "script.py"), "utf8"));
  assert.deepEqual(troubles, []);
  await context.close();
});
