// Report pages in a real browser: their script sorts and saves, and without it they say the same.
//
// COLLEGIAL names the program, CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
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
  const table = page.locator("#designs-worth-trying table");
  const column = () => table.locator("tbody tr td:nth-child(3)").allInnerTexts();
  const original = await column();
  const heading = table.locator("th button", { hasText: "parameters" });
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
  assert.equal(await page.locator("#designs-worth-trying tbody tr").count(), 3 + found.nearby.length);
  assert.equal(await page.locator("#variance-against-cost tbody tr").count(), found.pareto.length);
  assert.ok(!(await page.locator("#variance-against-cost").innerText()).includes("Drag"));
  assert.equal(await page.locator("th button, [data-save]").count(), 0);
  assert.ok(await page.locator("a[download]").first().isVisible());
});

test("variance against cost is drawn with both optima marked", async () => {
  const { page, troubles } = await open("search.html");
  for (const cost of ["params", "flops"]) {
    const figure = page.locator(`figure[data-file=resnext29-1x128d-pareto-${cost}]`);
    const drawing = figure.locator(".wide svg.cg").or(figure.locator("svg.cg")).first();
    const rows = found.pareto.filter((row) => row.fronts.includes(cost));
    const titles = await drawing.locator("g > title").allTextContents();
    for (const row of rows) assert.ok(titles.some((title) => title.startsWith(`${row.design}: `)), `${cost} ${row.design}`);
    const texts = await drawing.locator("text").allTextContents();
    for (const best of [found.primal, found.dual]) assert.ok(texts.includes(best.design), `${cost}: ${texts}`);
  }
  assert.deepEqual(troubles, []);
});

test("designs of the fronts stand under the figures, and a range of one filters them", async () => {
  const { page, troubles } = await open("search.html");
  const section = page.locator("#variance-against-cost");
  const names = () => section.locator("tbody tr:visible td:first-child").allInnerTexts();
  assert.deepEqual(await names(), found.pareto.map((row) => row.design));
  const counts = await section.locator("tbody tr td:nth-child(2)").allInnerTexts();
  assert.deepEqual(counts.map((cell) => Number(cell.replaceAll(",", ""))), found.pareto.map((row) => row.parameters));
  const flops = found.pareto.filter((row) => row.fronts.includes("flops")).sort((a, b) => a.flops - b.flops);
  const figure = section.locator("figure[data-file$=pareto-flops]");
  await figure.scrollIntoViewIfNeeded();
  const middle = async (row) => {
    const box = await figure.locator(".wide g", { has: page.locator("title", { hasText: `${row.design}: ` }) }).first().boundingBox();
    return box.x + box.width / 2;
  };
  const plot = await figure.locator(".plot").boundingBox();
  const [first, last] = [flops[2], flops[5]];
  await page.mouse.move(await middle(first) - 1, plot.y + 120);
  await page.mouse.down();
  await page.mouse.move(await middle(last) + 1, plot.y + 120, { steps: 4 });
  await page.mouse.up();
  const inside = found.pareto.filter((row) => row.fronts.includes("flops") && row.flops >= first.flops && row.flops <= last.flops);
  assert.deepEqual(await names(), inside.map((row) => row.design));
  assert.match(await section.locator("figure.table figcaption").innerText(), new RegExp(`Shown: ${inside.length} of ${found.pareto.length} designs`));
  await section.locator("th button", { hasText: "FLOPs" }).first().click();
  assert.deepEqual(await names(), [...inside].sort((a, b) => a.flops - b.flops).map((row) => row.design));
  await page.mouse.click(plot.x + 100, plot.y + 120);
  assert.equal((await names()).length, found.pareto.length);
  assert.deepEqual(troubles, []);
});

test("every column has a header, a member is defined, and the next step can be copied", async () => {
  const { page } = await open("search.html");
  const headers = await page.locator("thead th").allInnerTexts();
  assert.ok(headers.length > 8 && headers.every((header) => header.trim()), headers.join("|"));
  assert.match(await page.locator("main").innerText(), /A member is one of m equal, independent branches/);
  const commands = await page.locator("#the-next-step pre.command").allInnerTexts();
  assert.ok(commands.some((line) => line.trim() === `collegial export ${found.primal_model} --to pytorch`), commands.join("|"));
});

test("what others' trainings say links to the evidence, which the page carries", async () => {
  const { page } = await open("search.html");
  const link = page.locator(".verdict a", { hasText: "docs/evidence.md" });
  const target = await link.getAttribute("href");
  const kept = page.locator(`${target} a[download$="evidence.md"]`);
  const [download] = await Promise.all([page.waitForEvent("download"), kept.click()]);
  assert.match(readFileSync(await download.path(), "utf8"), /^# /);
});

test("a score page has what was computed first, and one line per predictor", async () => {
  const rows = ["resnext29-1x128d,4.1", "resnext29-3x64d,4.0", "resnext29-10x10d,4.6", "resnext29-37x10d,3.9", "resnext29-66x6d,3.8"];
  writeFileSync(join(folder, "trained.csv"), `note,model,error\n${rows.map((row) => `n,${row}`).join("\n")}\n`);
  execFileSync(program, ["score", "trained.csv", "--target", "error", "--report", "score.html"], { cwd: folder });
  const { page, troubles } = await open("score.html");
  const headers = (section) => page.locator(`#${section} thead`).first().locator("th").allInnerTexts();
  assert.deepEqual(await headers("the-designs"), ["model", "score", "white_score", "law", "parameters", "flops", "inner_width", "error", "note"]);
  assert.deepEqual(await headers("what-ranks-the-errors"), ["target", "rows", "predictor", "alone", "95 % interval", "given params", "given FLOPs"]);
  assert.equal(await page.locator("#what-ranks-the-errors tbody").first().locator("tr").count(), 6);
  assert.deepEqual(troubles, []);
});
