// Report pages in a real browser: their script sorts and saves, and without it they say the same.
//
// COLLEGIAL names the program, CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const program = process.env.COLLEGIAL ?? "target/debug/collegial";
const folder = mkdtempSync(join(tmpdir(), "report-"));
let browser, found;

before(async () => {
  execFileSync(program, ["search", "resnext29-1x128d", "--report", "search.html"], { cwd: folder });
  execFileSync(program, ["search", "fc6-500", "--alpha", "3.03", "--report", "paper.html"], { cwd: folder });
  found = JSON.parse(execFileSync(program, ["search", "resnext29-1x128d", "--json"], { encoding: "utf8" }));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(() => browser?.close());

async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  await page.goto(`file://${join(folder, name)}`);
  return { page, troubles };
}

test("two cards have the answer's numbers", async () => {
  const { page, troubles } = await open("search.html");
  const numbers = await page.locator(".card .big").allInnerTexts();
  assert.deepEqual(numbers, [`${found.primal.score_ratio.toFixed(2)} ×`, `${found.dual.cost_ratio.toFixed(2)} ×`]);
  const names = await page.locator(".card .design b").allInnerTexts();
  assert.deepEqual(names, [found.primal_model, found.dual_model]);
  assert.deepEqual(troubles, []);
});

test("tables sort, and come back as they were", async () => {
  const { page, troubles } = await open("search.html");
  const column = () => page.locator("table").first().locator("tbody tr td:nth-child(3)").allInnerTexts();
  const original = await column();
  const heading = page.locator("th button", { hasText: "parameters" }).first();
  await heading.click();
  const counts = (await column()).map((cell) => Number(cell.replaceAll(",", "")));
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
  await heading.click();
  await heading.click();
  assert.deepEqual(await column(), original);
  assert.deepEqual(troubles, []);
});

test("figures are saved under names that say what they are", async () => {
  const { page, troubles } = await open("search.html");
  for (const [kind, start] of [["SVG", /^<svg/], ["PNG", /PNG/]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`[data-save=${kind}]`).first().click()]);
    assert.equal(download.suggestedFilename(), `resnext29-1x128d-same-cost.${kind.toLowerCase()}`);
    assert.match(readFileSync(await download.path()).subarray(0, 8).toString("latin1"), start);
  }
  const csv = page.locator("a[download]").first();
  assert.equal(await csv.getAttribute("download"), "resnext29-1x128d-same-cost.csv");
  assert.deepEqual(troubles, []);
});

test("points have titles, and the exact curve lies over the law's with the gap said", async () => {
  const { page } = await open("paper.html");
  const titles = await page.locator("svg.cg g > title").allTextContents();
  assert.ok(titles.some((title) => title.includes("times less variance")), titles.join("; "));
  assert.ok(titles.includes("fc6-500, the baseline"));
  assert.match(await page.locator("figcaption").first().innerText(), /Var\(49\) is [\d.]+ by the law and [\d.]+ exactly/);
  assert.ok((await page.locator("svg.cg text").allTextContents()).includes("exact"));
});

test("pages fit every width of screen, and need no script", async () => {
  for (const width of [360, 768, 1400]) {
    const { page } = await open("search.html", { viewport: { width, height: 800 } });
    const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= room, `${content} of ${room}`);
    assert.equal(await page.locator("tbody td").first().evaluate((cell) => getComputedStyle(cell).position), "sticky");
  }
  const { page } = await open("search.html", { javaScriptEnabled: false });
  assert.equal(await page.locator("table").first().locator("tbody tr").count(), 3 + found.nearby.length);
  assert.equal(await page.locator("th button, [data-save]").count(), 0);
  assert.ok(await page.locator("a[download]").first().isVisible());
});
