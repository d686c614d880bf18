// The explorer's page in a real browser, against the program's own JSON.
//
// COLLEGIAL names the program, CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, afterEach, test } from "node:test";
import { chromium } from "playwright-core";

const program = process.env.COLLEGIAL ?? "target/debug/collegial";
const folder = mkdtempSync(join(tmpdir(), "explorer-"));
let server, address, browser, context, page, troubles, expected;

/** What the program prints with --json. */
const answer = (...words) => JSON.parse(execFileSync(program, [...words, "--json"], { encoding: "utf8" }));
const run = (...words) => execFileSync(program, words, { encoding: "utf8", cwd: folder });
const text = (id) => page.locator(`#${id}`).innerText();

/** Until an element says something. */
const says = (id, expected) => page.waitForFunction(([id, expected]) => document.getElementById(id).textContent.includes(expected), [id, expected]);

/** Until every answer that was asked for is shown. */
const settled = () => page.waitForSelector("#results[aria-busy=false]");

/** The page with a state behind the token, settled. */
async function open(state = "model=resnext29-1x128d") {
  await page.goto("about:blank");
  await page.goto(`${address}&${state}`);
  await says("width-value", ":");
  await settled();
}

/** The file that an action saves. Chromium drops, without a word, the eleventh download that a page begins within a second or so; a
 * person is not as fast. */
async function saved(act) {
  await page.waitForTimeout(250);
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return download;
}

/** What the address says. */
const inAddress = async (key) => new URLSearchParams((await page.evaluate(() => location.hash)).slice(1)).get(key);

before(async () => {
  server = spawn(program, ["explore", "fc6-500", "--no-browser"], { stdio: ["ignore", "pipe", "ignore"] });
  address = await new Promise((resolve, reject) => {
    server.stdout.once("data", (line) => resolve(String(line).trim()));
    server.once("exit", () => reject(new Error("the program ended")));
  });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.kill("SIGINT");
});

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  context.setDefaultTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = await context.newPage();
  troubles = [];
  expected = /^$/;
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  // Nothing but the program is asked.
  await page.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(address.split("#")[0]) || url.startsWith("data:")) return route.continue();
    troubles.push(`asked for ${url}`);
    return route.abort();
  });
});

afterEach(async () => {
  await context.close();
  assert.deepEqual(troubles.filter((trouble) => !expected.test(trouble)), []);
});

test("it opens with the baseline that the program was given", async () => {
  await page.goto(address);
  await says("baseline-name", "fc6-500");
  await says("primal-design", answer("search", "fc6-500").primal_model);
});

test("its numbers are the program's, for every setting", async () => {
  for (const [state, flags] of [
    ["", []],
    ["&cost=flops", ["--cost", "flops"]],
    ["&cost=activations&rule=nearest", ["--cost", "activations", "--rule", "nearest"]],
    ["&inputs=white&multiple=8", ["--block-inputs", "white", "--multiple-of", "8"]],
  ]) {
    await open(`model=resnext29-1x128d${state}`);
    const found = answer("search", "resnext29-1x128d", ...flags);
    const { primal, dual, primal_model, dual_model } = found;
    assert.equal(await text("primal-design"), primal_model);
    assert.equal(await text("dual-design"), dual_model);
    assert.equal(await text("primal-ratio"), `${primal.score_ratio.toFixed(2)} ×`);
    assert.equal(await text("dual-ratio"), `${dual.cost_ratio.toFixed(2)} ×`);
    const unit = { flops: "FLOPs", activations: "activations" }[flags[1]] ?? "parameters";
    const counts = { parameters: primal.parameters / found.baseline_parameters, FLOPs: primal.flops / found.baseline_flops, activations: primal.activations / found.baseline_activations };
    const moved = Object.entries(counts).filter(([other, share]) => other !== unit && Math.abs(share - 1) >= 0.0005);
    const shares = [[unit, 1 / primal.cost_ratio], ...moved].map(([name, share]) => `${(100 * share).toFixed(1)} % of the ${name}`);
    assert.equal(await text("primal-note"), shares.join(", ").replace(/, ([^,]*)$/, " and $1"));
  }
});

test("a baseline is picked from the list, typed, and pasted", async () => {
  await open();
  await page.click("#baseline");
  await page.locator("#families button", { hasText: /^resnext50-32x4d/ }).click();
  await says("baseline-name", "resnext50-32x4d");
  assert.equal(await inAddress("model"), "resnext50-32x4d");
  await page.click("#baseline");
  await page.fill("#name", "resnext29-3x64d");
  await page.press("#name", "Enter");
  await says("primal-design", answer("search", "resnext29-3x64d").primal_model);
  await page.click("#baseline");
  await page.locator("#picker summary").click();
  await page.fill("#toml", 'kind = "bottleneck"\ninputs = 128\noutputs = 128\nwidth = 64\n');
  await page.click("#use-toml");
  await says("primal-design", answer("search", "bottleneck-64", "--inputs", "128", "--outputs", "128").primal.design);
});

test("a wrong name is refused in the program's words, and the page stays", async () => {
  expected = / 400 /;
  await open();
  await page.click("#baseline");
  await page.fill("#name", "resnext51-32x4d");
  await page.click("#use-name");
  await says("picker-error", "resnext51-32x4d");
  await page.keyboard.press("Escape");
  assert.equal(await text("baseline-name"), "resnext29-1x128d");
});

test("a network that cannot be searched is counted, with the reason", async () => {
  expected = / 400 /;
  await page.goto(`${address}&model=wrn28-10`);
  await says("status", "wrn28-10 is not supported by a search");
  await says("layer-table", answer("info", "wrn28-10").parameters.toLocaleString("en-US"));
  assert.equal(await page.locator("#answers").isVisible(), false);
});

test("a transformer picked from the list gets verdicts on its layers, whatever the settings", async () => {
  await open();
  await page.click("#baseline");
  await page.locator("#families li[data-name=vit_b_16] button").click();
  await says("verdicts", "vit_b_16 feed-forward: split-neutral. ");
  await settled();
  const { verdicts } = answer("search", "vit_b_16");
  for (const { sentence } of verdicts) assert.ok((await text("verdicts")).includes(sentence), sentence);
  assert.equal(await page.locator("#verdicts tbody tr").count(), verdicts.flatMap(({ heads }) => heads).length);
  assert.equal(await text("status"), "");
  assert.equal(await page.locator("#status.wrong").count(), 0);
  for (const id of ["answers", "controls", "evidence"]) assert.equal(await page.locator(`#${id}`).isVisible(), false, id);
  assert.match(await page.evaluate(async () => (await fetch(document.querySelector("#verdicts a").href)).text()), /^# /);
  // A rule that a link names belongs to designs; the layers get their verdicts all the same.
  expected = / 400 /;
  await page.goto("about:blank");
  await page.goto(`${address}&model=gpt2&rule=nearest&cost=flops`);
  await says("verdicts", "gpt2 attention: split-neutral. ");
  // Designs come back with the next network.
  await page.click("#baseline");
  await page.fill("#name", "resnext29-3x64d");
  await page.press("#name", "Enter");
  await says("primal-design", answer("search", "resnext29-3x64d", "--cost", "flops", "--rule", "nearest").primal_model);
  assert.equal(await page.locator("#judged").isVisible(), false);
  assert.equal(await page.locator("#answers").isVisible(), true);
});

test("the width is dragged on both curves and moved by keys", async () => {
  await open();
  const best = answer("search", "resnext29-1x128d");
  const picture = page.locator("#primal-plot svg.plot");
  await picture.scrollIntoViewIfNeeded();
  const box = await picture.boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.7 * box.width, box.y + 90, { steps: 8 });
  await page.mouse.up();
  const width = Number(await inAddress("width"));
  assert.ok(width > best.primal.width && width <= 128, `width ${width}`);
  const found = answer("search", "resnext29-1x128d", "--widths", String(width));
  await says("width-value", `${found.primal.design}: ${found.primal.score_ratio.toFixed(2)} ×`);
  await says("shown", `resnext29-${found.primal.design}`);
  await page.focus("#width");
  await page.keyboard.press("ArrowLeft");
  const narrower = answer("search", "resnext29-1x128d", "--widths", String(width - 1));
  await says("width-value", narrower.primal.design);
  assert.match(await page.getAttribute("#width", "aria-valuetext"), new RegExp(`width ${width - 1}, ${narrower.primal.design}`));
  await page.locator(".card.c-variance label").click();
  await says("width-value", best.dual.design);
});

test("counts of every layer are there when they are asked for, and sort", async () => {
  await open();
  await page.locator("#layers summary").click();
  const best = answer("search", "resnext29-1x128d");
  const { layers } = answer("info", best.primal_model);
  const row = page.locator("#layer-table tbody tr", { hasText: "layer1.0.conv2" });
  await row.waitFor();
  const grouped = layers.find((layer) => layer.name === "layer1.0.conv2").parameters.toLocaleString("en-US");
  assert.ok((await row.innerText()).includes(grouped));
  const first = () => page.locator("#layer-table tbody tr").first().innerText();
  const before = await first();
  const heading = page.locator("#layer-table thead button", { hasText: "layer" }).first();
  await heading.click();
  assert.equal(await page.locator("#layer-table thead th").first().getAttribute("aria-sort"), "ascending");
  await heading.click();
  assert.notEqual(await first(), before);
  await heading.click();
  assert.equal(await first(), before);
});

test("a setting changes the answer and the address", async () => {
  await open();
  await page.locator("label", { hasText: "FLOPs" }).first().click();
  await says("primal-design", answer("search", "resnext29-1x128d", "--cost", "flops").primal_model);
  assert.equal(await inAddress("cost"), "flops");
  await page.selectOption("select[name=multiple]", "16");
  await says("primal-design", answer("search", "resnext29-1x128d", "--cost", "flops", "--multiple-of", "16").primal_model);
  await page.reload();
  await says("primal-design", answer("search", "resnext29-1x128d", "--cost", "flops", "--multiple-of", "16").primal_model);
});

test("every stage has a design of its own where that is asked for", async () => {
  await open();
  for (const [label, flags] of [["one each", ["--per-stage"]], ["two widths each", ["--per-stage", "--free-widths"]]]) {
    await page.locator("label", { hasText: label }).click();
    const { stages } = answer("search", "resnext29-1x128d", ...flags);
    await says("stages", stages.primal.designs.join(", "));
    await settled();
    assert.equal(await text("command"), ["collegial search resnext29-1x128d", ...flags].join(" "));
  }
  assert.equal(await inAddress("stages"), "free");
  await page.locator("label", { hasText: "one for all" }).click();
  await page.waitForFunction(() => !document.getElementById("stages").hasChildNodes());
});

test("it is dark where the reader likes it dark", async () => {
  const colours = async () => page.evaluate(() => {
    const of = (element, property) => getComputedStyle(element)[property].match(/[\d.]+/g).slice(0, 3).map(Number);
    const tick = document.querySelector("#primal-plot svg.plot .tick");
    return { paper: of(document.body, "backgroundColor"), ink: of(document.body, "color"), tick: of(tick, "fill") };
  });
  const light = ([red, green, blue]) => (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
  for (const [scheme, papers] of [["light", (paper) => paper > 0.9], ["dark", (paper) => paper < 0.15]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await open();
    const { paper, ink, tick } = await colours();
    assert.ok(papers(light(paper)), `${scheme}: ${paper}`);
    assert.ok(Math.abs(light(ink) - light(paper)) > 0.6, `${scheme}: ${ink} on ${paper}`);
    assert.ok(Math.abs(light(tick) - light(paper)) > 0.25, `${scheme}: ${tick} on ${paper}`);
  }
});

test("Ctrl-C ends the server, and the page says so", async () => {
  expected = /ERR_CONNECTION_REFUSED|Failed to load/;
  const other = spawn(program, ["explore", "resnext29-1x128d", "--no-browser"], { stdio: ["ignore", "pipe", "ignore"] });
  const place = await new Promise((resolve) => other.stdout.once("data", (line) => resolve(String(line).trim())));
  await page.unroute("**/*");
  await page.goto(place);
  await says("width-value", ":");
  await settled();
  const ended = new Promise((resolve) => other.once("exit", (code, signal) => resolve({ code, signal })));
  other.kill("SIGINT");
  assert.deepEqual(await ended, { code: 130, signal: null });
  await page.locator("label", { hasText: "FLOPs" }).first().click();
  await says("status", "does not answer any more");
});

test("dropped files are read", async () => {
  await open();
  for (const format of ["safetensors", "onnx"]) {
    const name = `dropped.${format}`;
    run("export", "resnext29-2x9d", "--to", format, "--out", name);
    const content = readFileSync(join(folder, name)).toString("base64");
    const transfer = await page.evaluateHandle(([name, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name));
      return transfer;
    }, [name, content]);
    await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
    await says("baseline-name", "resnext29-2x9d");
    await says("primal-design", answer("search", "resnext29-2x9d").primal_model);
    await page.click("#baseline");
    await page.locator("#families button", { hasText: "resnext29-1x128d" }).click();
    await says("baseline-name", "resnext29-1x128d");
  }
});

test("a dropped table of times makes time a cost, with a front, a column and a brush", async () => {
  expected = / 400 /;
  const rows = "resnext29-1x128d,0.412\n66x6d,0.405\n37x10d,0.371\n20x16d,0.336\n11x24d,0.28\n16x9d,0.21\n";
  const dropped = async (name, content) => {
    const transfer = await page.evaluateHandle(([name, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], name));
      return transfer;
    }, [name, content]);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  };
  await open();
  assert.equal(await page.locator("#cost-time").isVisible(), false);
  // What is no table of times is refused, and nothing changes.
  await dropped("times.csv", "model,seconds\n66x6d,0.4\n");
  await says("status", "the timings lack the baseline");
  assert.equal(await page.locator("#cost-time").isVisible(), false);
  await dropped("times.csv", `model,seconds\n${rows}`);
  await says("status", "times.csv has the times of 5 designs.");
  await settled();
  writeFileSync(join(folder, "times.csv"), `model,seconds\n${rows}`);
  const program = (...words) => JSON.parse(run("search", "resnext29-1x128d", "--cost", "time", "--timings", "times.csv", ...words, "--json"));
  const found = program();
  assert.equal(await text("primal-design"), found.primal_model);
  assert.equal(await text("dual-design"), found.dual_model);
  assert.equal(await text("dual-ratio"), `${found.dual.cost_ratio.toFixed(2)} ×`);
  assert.equal(await text("dual-what"), "less time");
  assert.match(await text("primal-note"), /^98\.3 % of the time/);
  assert.match(await text("shown"), /, 98\.3 % of the baseline's time\.$/);
  assert.equal(await text("command"), "collegial search resnext29-1x128d --cost time --timings times.csv");
  assert.equal(await inAddress("cost"), null);
  // The front by time, its column, its numbers under the pointer, and a brushed range of it.
  assert.equal(await page.locator("input[name=pareto-cost][value=time]").isChecked(), true);
  const front = found.pareto.filter((row) => row.fronts.includes("time") || row.primal || row.dual).sort((a, b) => a.time_share - b.time_share);
  const cells = (column) => page.locator(`#pareto-table tbody tr td:nth-child(${column})`).allInnerTexts();
  assert.equal(await page.locator("#pareto-table th:nth-child(5)").innerText(), "time share");
  assert.deepEqual([await cells(1), await cells(5)], [front.map((row) => row.design), front.map((row) => row.time_share.toFixed(3))]);
  assert.equal(await page.locator("#pareto-plot svg.plot .name").first().textContent(), "time, the baseline's being 1");
  const picture = page.locator("#pareto-plot svg.plot");
  await picture.scrollIntoViewIfNeeded();
  await picture.hover({ position: { x: 60, y: 60 } });
  assert.match(await page.locator("#pareto-plot .hovered text").textContent(), /: time 0\.\d+, [\d.]+ times less variance/);
  const box = await picture.boundingBox();
  await page.mouse.move(box.x + 0.4 * box.width, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.99 * box.width, box.y + 100, { steps: 5 });
  await page.mouse.up();
  const kept = await cells(1);
  assert.ok(kept.length > 0 && kept.length < front.length, kept.join());
  assert.deepEqual(kept, front.slice(-kept.length).map((row) => row.design));
  // A width has the designs that were timed.
  await page.focus("#width");
  await page.keyboard.press("ArrowRight");
  const width = await inAddress("width");
  const picked = program("--widths", width);
  await says("width-value", `${picked.primal.design}: ${picked.primal.score_ratio.toFixed(2)} × less variance`);
  await settled();
  assert.equal(await text("primal-design"), picked.primal_model);
  // Another design's time is not known, and another baseline has none.
  await page.fill("#own", "40x8d");
  await page.press("#own", "Enter");
  await says("shown", "its time is not known");
  await page.click("#best");
  await page.locator("#settings label", { hasText: "FLOPs" }).click();
  await says("primal-design", answer("search", "resnext29-1x128d", "--cost", "flops").primal_model);
  await page.locator("#cost-time").click();
  await says("primal-note", "of the time");
  await page.click("#baseline");
  await page.fill("#name", "resnext29-3x64d");
  await page.press("#name", "Enter");
  await says("primal-design", answer("search", "resnext29-3x64d").primal_model);
  assert.equal(await page.locator("#cost-time").isVisible(), false);
  // The file control takes a table, too.
  await page.click("#baseline");
  await page.setInputFiles("#file", { name: "more.csv", mimeType: "text/csv", buffer: Buffer.from("model,seconds\nresnext29-3x64d,2\n16x9d,1\n") });
  await says("status", "more.csv has the time of 1 design.");
  assert.equal(await page.locator("#picker").isVisible(), false);
});

test("what is copied is what the program takes", async () => {
  await open("model=resnext29-1x128d&cost=flops&multiple=4&width=12");
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.click("#copy-command");
  await says("status", "Copied");
  const words = (await clipboard()).split(" ").slice(1);
  const found = answer(...words);
  await says("width-value", found.primal.design);
  await page.click("#copy-toml");
  await says("status", "Copied the spec");
  assert.equal(await clipboard(), run("info", `resnext29-${found.primal.design}`, "--spec"));
  await page.click("#copy-pytorch");
  await says("status", "Copied the PyTorch");
  run("export", `resnext29-${found.primal.design}`, "--to", "pytorch", "--out", "script.py");
  assert.equal(await clipboard(), readFileSync(join(folder, "script.py"), "utf8"));
  await page.click("#copy-link");
  await says("status", "Copied the address");
  assert.equal(await clipboard(), await page.evaluate(() => location.href));
});

// A page of its own for each: Chromium drops what a page saves beyond about ten files in a row.
for (const figure of ["primal-plot", "dual-plot", "ways-plot", "kernels-plot", "diagram"]) {
  const kinds = figure === "diagram" ? ["SVG", "PNG"] : ["CSV", "SVG", "PNG"];
  test(`${figure} is saved as ${kinds.join(", ")}`, async () => {
    await open();
    for (const kind of kinds) {
      const download = await saved(() => page.click(`#${figure} [data-save=${kind}]`));
      const content = readFileSync(await download.path());
      assert.ok(download.suggestedFilename().endsWith(kind.toLowerCase()));
      const start = { CSV: /^[a-z_]+,/, SVG: /^<svg/, PNG: /PNG/ }[kind];
      assert.match(content.subarray(0, 40).toString("latin1"), start, `${figure} ${kind}`);
      assert.ok(content.length > 400, `${figure} ${kind}`);
    }
  });
}

test("an answer that comes while a button is pressed does not take the click away", async () => {
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/ask/search", async (route) => {
    if (route.request().postDataJSON().variance === "law") await held;
    return route.fallback();
  });
  await page.goto(`${address}&model=resnext29-1x128d`);
  const button = page.locator("#ways-plot [data-save=CSV]");
  await page.waitForRequest((request) => request.postDataJSON()?.variance === "law");
  await page.waitForSelector("#kernels-plot svg.plot");
  await button.hover();
  await page.mouse.down();
  const arrived = page.waitForResponse((response) => response.request().postDataJSON()?.variance === "law");
  release();
  await (await arrived).finished();
  // A frame in which the answer could be shown.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  assert.equal(await page.locator("#ways-plot .keys", { hasText: "law" }).count(), 0);
  const download = await saved(() => page.mouse.up());
  assert.equal(download.suggestedFilename(), "bottleneck-128-variance-of-a-member.csv");
  await page.locator("#ways-plot .keys", { hasText: "law" }).waitFor();
});

test("it fits every width of screen, and every control has a name", async () => {
  for (const width of [360, 768, 1400]) {
    await page.setViewportSize({ width, height: 800 });
    await open();
    const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= room, `${content} of ${room}`);
  }
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, select, textarea, summary")]
    .filter((control) => !(control.innerText?.trim() || control.getAttribute("aria-label") || control.getAttribute("aria-labelledby") || control.labels?.length))
    .map((control) => control.outerHTML));
  assert.deepEqual(unnamed, []);
});

test("everything is done by keys alone", async () => {
  await open();
  const focused = () => page.evaluate(() => document.activeElement.id);
  await page.keyboard.press("Tab");
  assert.equal(await focused(), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await focused(), "answers");
  await page.focus("#baseline");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#families button");
  await page.keyboard.type("resnext29-3x64d");
  await page.keyboard.press("Enter");
  await says("baseline-name", "resnext29-3x64d");
  assert.equal(await focused(), "baseline");
  await page.focus("input[name=cost][value=params]");
  await page.keyboard.press("ArrowRight");
  const best = answer("search", "resnext29-3x64d", "--cost", "flops");
  await says("primal-design", best.primal_model);
  await page.focus("input[name=goal][value=primal]");
  await page.keyboard.press("ArrowRight");
  await says("width-value", best.dual.design);
  await settled();
  await page.focus("#dual-plot [data-save=PNG]");
  const download = await saved(() => page.keyboard.press("Enter"));
  assert.equal(download.suggestedFilename(), "resnext29-3x64d-same-variance.png");
  await page.focus("#layers summary");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#layer-table td");
});

test("without the token there is a sentence and no answer", async () => {
  expected = / 401 /;
  await page.goto(address.split("#")[0]);
  await says("status", "Open the address");
});
