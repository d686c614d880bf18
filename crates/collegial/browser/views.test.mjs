// The explorer's views: what they show of the program's JSON, and what moves them.
//
// COLLEGIAL names the program, CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const program = process.env.COLLEGIAL ?? "target/debug/collegial";
const answer = (...words) => JSON.parse(execFileSync(program, ["search", ...words, "--json"], { encoding: "utf8" }));
let server, address, browser, context, page, troubles;

before(async () => {
  server = spawn(program, ["explore", "resnext29-1x128d", "--no-browser"], { stdio: ["ignore", "pipe", "ignore"] });
  address = await new Promise((resolve) => server.stdout.once("data", (line) => resolve(String(line).trim())));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.kill("SIGINT");
});

beforeEach(() => { troubles = []; });
afterEach(async () => {
  await context.close();
  assert.deepEqual(troubles, []);
});

const settled = () => page.waitForSelector("#results[aria-busy=false]");
const says = (id, expected) => page.waitForFunction(([id, expected]) => document.getElementById(id).textContent.includes(expected), [id, expected]);
const text = (id) => page.locator(`#${id}`).innerText();

async function open(state = "model=resnext29-1x128d", viewport = { width: 1200, height: 900 }) {
  context = await browser.newContext({ viewport });
  context.setDefaultTimeout(120_000);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = await context.newPage();
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  await page.goto(`${address}&${state}`);
  await says("width-value", ":");
  await settled();
}

/** Moves the slider as a hand does. */
const slide = (place) => page.evaluate((place) => {
  const slider = document.getElementById("width");
  slider.value = place;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}, place);

test("a brushed range of the front is what the table has, sorted by any column", async () => {
  await open();
  const { pareto, primal, dual } = answer("resnext29-1x128d");
  const of = (cost, key) => pareto.filter((row) => row.fronts.includes(cost) || row.primal || row.dual).sort((a, b) => a[key] - b[key]);
  const designs = () => page.locator("#pareto-table tbody tr td:first-child").allInnerTexts();
  assert.deepEqual(await designs(), of("params", "parameters").map((row) => row.design));
  const marked = await page.locator("#pareto-plot svg.plot text.label").allTextContents();
  for (const best of [primal, dual]) assert.ok(marked.includes(best.design), marked.join());
  await page.locator("#pareto-cost label", { hasText: "FLOPs" }).click();
  const rows = of("flops", "flops");
  assert.deepEqual(await designs(), rows.map((row) => row.design));
  const picture = page.locator("#pareto-plot svg.plot");
  await picture.scrollIntoViewIfNeeded();
  const box = await picture.boundingBox();
  await page.mouse.move(box.x + 0.25 * box.width, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 100, { steps: 5 });
  await page.mouse.up();
  const kept = await designs();
  assert.ok(kept.length > 1 && kept.length < rows.length, kept.join());
  // A range: neighbours on the axis, none left out.
  const first = rows.findIndex((row) => row.design === kept[0]);
  assert.deepEqual(kept, rows.slice(first, first + kept.length).map((row) => row.design));
  await page.locator("#pareto-table th button", { hasText: "variance: times less" }).click();
  const ratios = (await page.locator("#pareto-table tbody tr td:nth-child(6)").allInnerTexts()).map(Number);
  assert.deepEqual(ratios, [...ratios].sort((a, b) => a - b));
  // By keys, too.
  await page.click("#brush-all");
  assert.equal((await designs()).length, rows.length);
  await page.focus("#brush-from");
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await designs(), rows.slice(1).map((row) => row.design));
  await page.locator("#pareto-table tbody button").first().click();
  await says("taken", String(rows[1].design));
});

test("cards follow the slider, with counts and the designs that suit hardware", async () => {
  await open();
  const best = answer("resnext29-1x128d");
  for (const [goal, key] of [["primal", "score_ratio"], ["dual", "cost_ratio"]]) {
    const shown = await text(`${goal}-friendly`);
    for (const other of best.friendly.filter((one) => one.problem === goal)) assert.ok(shown.includes(`${other.design}: ${other[key].toFixed(2)} ×`), shown);
    assert.ok((await text(`${goal}-counts`)).includes(`${(best[goal].flops / 1e9).toPrecision(3)} GFLOPs`));
  }
  await slide(620);
  await settled();
  const width = Number(new URLSearchParams((await page.evaluate(() => location.hash)).slice(1)).get("width"));
  assert.ok(width > best.primal.width, `${width}`);
  const found = answer("resnext29-1x128d", "--widths", String(width));
  assert.equal(await text("primal-design"), found.primal_model);
  assert.equal(await text("dual-design"), found.dual_model);
  assert.equal(await text("primal-ratio"), `${found.primal.score_ratio.toFixed(2)} ×`);
  assert.ok((await text("primal-counts")).includes(`${(found.primal.flops / 1e9).toPrecision(3)} GFLOPs`));
  await page.locator("#primal-friendly button").first().click();
  await says("primal-design", best.friendly[0].design);
});

test("a width whose best design is the baseline is not called the best of all widths", async () => {
  await open("model=resnet50&width=64");
  const [whole, width] = [answer("resnet50"), answer("resnet50", "--widths", "64")];
  assert.deepEqual([whole.primal.gain, width.primal.gain, width.dual.gain], ["better", "baseline-is-best", "baseline-is-best"]);
  for (const goal of ["primal", "dual"]) assert.equal(await text(`${goal}-what`), "this is the baseline");
  await context.close();
  // A network that is its own best design still says so.
  await open("model=regnet_x_400mf");
  assert.equal(answer("regnet_x_400mf").primal.gain, "baseline-is-best");
  assert.equal(await text("primal-what"), "the baseline is itself the best");
  await context.close();
  await open("model=regnet_x_400mf&width=8");
  assert.match(await text("primal-what"), /: no design of this width is as good as the baseline$/);
  assert.match(await text("dual-what"), /: no design of this width is cheaper than the baseline$/);
  // No block stands for all stages, so there are no kernels to draw.
  troubles = troubles.filter((trouble) => !/ 400 /.test(trouble));
});

test("three shares are a list", async () => {
  await open("model=resnext29-1x128d&stages=free");
  const note = await text("dual-note");
  assert.match(note, /^[\d.]+ % of the FLOPs, [\d.]+ % of the activations and [\d.]+ % of the variance$/);
});

test("what others' trainings say stands under the cards, with a link to what is served", async () => {
  await open("model=resnet50");
  const { evidence } = answer("resnet50");
  assert.ok((await text("evidence")).startsWith(evidence.sentence));
  const [cards, said] = [await page.locator("#answers").boundingBox(), await page.locator("#evidence").boundingBox()];
  assert.ok(said.y >= cards.y + cards.height && said.y < cards.y + cards.height + 40, `${said.y}`);
  assert.ok(!(await text("reading")).includes("Trained by others"));
  const served = await page.evaluate(async () => (await fetch(document.querySelector("#evidence a").href)).text());
  assert.match(served, /^# Does it help/);
  // A network that cannot be searched has no evidence, and the last one's goes.
  await page.click("#baseline");
  await page.fill("#name", "wrn28-10");
  await page.press("#name", "Enter");
  await says("status", "wrn28-10 is not supported by a search");
  assert.equal(await page.locator("#evidence").isVisible(), false);
  troubles = troubles.filter((trouble) => !/ 400 /.test(trouble));
  await context.close();
  await open("model=fc6-500");
  assert.equal(await page.locator("#evidence").isVisible(), false);
});

test("the picker finds the names of torchvision and timm, and offers any other name as it is", async () => {
  await open();
  await page.click("#baseline");
  await page.waitForSelector("#families button");
  const listed = () => page.locator("#families li:visible button").evaluateAll((all) => all.map((button) => button.firstChild.textContent));
  assert.ok(!(await listed()).includes("resnet50"));
  for (const [typed, found, family] of [
    ["resnet101", "resnet101", "ResNet and ResNeXt for ImageNet"], ["wide_resnet", "wide_resnet50_2", "ResNet and ResNeXt for ImageNet"],
    ["resnext50_32x4d", "resnext50_32x4d", "ResNet and ResNeXt for ImageNet"], ["regnetx_004", "regnetx_004", "RegNet"],
    ["vit_base", "vit_base_patch16_224", "Vision transformer"],
  ]) {
    await page.fill("#name", typed);
    const names = await listed();
    assert.ok(names.includes(found) && names.every((name) => name.includes(typed)), `${typed}: ${names}`);
    assert.deepEqual(await page.locator("#families h3:visible").allInnerTexts(), [family]);
    assert.equal(await page.locator("#use-typed").isVisible(), false);
  }
  await page.fill("#name", "resnext29-5x33d");
  assert.deepEqual(await listed(), []);
  assert.equal(await text("use-typed"), "Use resnext29-5x33d");
  await page.click("#use-typed");
  await says("baseline-name", "resnext29-5x33d");
  await page.click("#baseline");
  await page.fill("#name", "resnet50");
  await page.locator("#families button", { hasText: /^resnet50 ?[\d.]/ }).first().click();
  await says("baseline-name", "resnext50-1x64d");
});

test("slider and curve share one logarithmic scale", async () => {
  for (const width of [1, 6, 40, 128]) {
    await open(`model=resnext29-1x128d&width=${width}`);
    const [slider, handle] = await page.evaluate(() => {
      const { frame } = document.getElementById("primal-plot").plotted;
      const line = document.querySelector("#primal-plot .held line");
      return [document.getElementById("width").value / 1000, (line.getAttribute("x1") - frame.left) / (frame.right - frame.left)];
    });
    assert.ok(Math.abs(slider - handle) < 0.002, `${width}: ${slider} ${handle}`);
    await context.close();
  }
  await open();
});

test("designs per stage change the cards and the picture", async () => {
  await open();
  for (const [label, flags] of [["one each", ["--per-stage"]], ["two widths each", ["--per-stage", "--free-widths"]]]) {
    await page.locator("#controls label", { hasText: label }).click();
    const { stages } = answer("resnext29-1x128d", ...flags);
    await says("primal-design", stages.primal.designs.join("-"));
    await settled();
    assert.equal(await text("primal-ratio"), `${stages.primal.score_ratio.toFixed(2)} ×`);
    assert.equal(await text("dual-ratio"), `${stages.dual.cost_ratio.toFixed(2)} ×`);
    assert.equal(await text("width-value"), `${stages.primal.designs.join("-")}: ${stages.primal.score_ratio.toFixed(2)} × less variance`);
    for (const figure of ["primal-plot", "dual-plot"]) assert.equal(await page.locator(`#${figure} .keys`, { hasText: "designs of the stages" }).count(), 1);
    assert.ok((await page.locator("#diagram svg.plot").textContent()).includes(stages.primal.designs.join("-")));
    const [content, room] = await page.evaluate(() => { const box = document.querySelector("#stages .scroll"); return [box.scrollWidth, box.clientWidth]; });
    assert.ok(content <= room, `the table is cut off: ${content} of ${room}`);
    await page.locator(".card.c-variance label").click();
    await says("taken", stages.dual.designs.join("-"));
    await page.locator(".card.c-cost label").click();
    await says("taken", stages.primal.designs.join("-"));
  }
  // A width is of one design for all.
  await slide(500);
  await settled();
  assert.equal(await page.locator("input[name=stages][value=one]").isChecked(), true);
  assert.equal(await page.locator("#stages").innerText(), "");
  assert.equal(await page.locator(".keys", { hasText: "designs of the stages" }).count(), 0);
});

test("what a member is stands above the controls, with a link that opens", async () => {
  await open();
  const [member, controls] = [await page.locator("#member").boundingBox(), await page.locator("#controls").boundingBox()];
  assert.ok(member.y + member.height <= controls.y);
  const sentences = (await page.locator("#member p").innerText()).split(". ").length;
  assert.ok(sentences >= 2);
  await page.click("#idea");
  await page.waitForFunction(() => document.body.innerText.includes("tangent kernel"));
  // A browser asks for the icon of a page that is only text.
  troubles = troubles.filter((trouble) => !/404/.test(trouble));
});

test("on a phone the settings are folded and the first number is on the first screen", async () => {
  await open("model=resnext29-1x128d", { width: 360, height: 740 });
  assert.equal(await page.locator("#settings").isVisible(), false);
  const number = await page.locator("#primal-ratio").boundingBox();
  assert.ok(number.y + number.height < 740, `${number.y}`);
  await page.locator("#controls summary").click();
  await page.locator("#settings label", { hasText: "FLOPs" }).click();
  await says("primal-design", answer("resnext29-1x128d", "--cost", "flops").primal_model);
});

test("on a phone numbers stay with their units, and short controls on one line", async () => {
  await open("model=resnet50&width=20", { width: 390, height: 844 });
  const broken = await page.evaluate(() => ["primal-note", "primal-counts", "dual-note", "taken", "shown", "evidence-said", "reading"].flatMap((id) => {
    const walker = document.createTreeWalker(document.getElementById(id), NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      const node = walker.currentNode;
      for (const { 0: words, index } of node.data.matchAll(/\d[\d.,]* (%|[kMGT]\w*)/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + words.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) found.push(`${id}: ${words}`);
      }
    }
    return found;
  }));
  assert.deepEqual(broken, []);
  for (const row of ["#own-design", ".brush"]) {
    const lines = await page.locator(row).evaluate((element) => {
      const boxes = [...element.children].map((child) => child.getBoundingClientRect());
      return Math.max(...boxes.map(({ top }) => top)) < Math.min(...boxes.map(({ bottom }) => bottom));
    });
    assert.ok(lines, `${row} is broken`);
  }
  // The name of the design has a line of its own.
  const [name, note] = [await page.locator("#primal-design").boundingBox(), await page.locator("#primal-note").boundingBox()];
  assert.ok(note.y >= name.y + name.height - 4, `${note.y} ${name.y}`);
});

test("the pointer tells values, shows what can be dragged, and the curve is smooth where it bends", async () => {
  await open();
  const { curve } = answer("resnext29-1x128d");
  for (const [figure, cursor] of [["primal-plot", "ew-resize"], ["dual-plot", "ew-resize"], ["pareto-plot", "crosshair"], ["kernels-plot", "auto"], ["ways-plot", "auto"]]) {
    const picture = page.locator(`#${figure} svg.plot`);
    await picture.scrollIntoViewIfNeeded();
    await picture.hover({ position: { x: 260, y: 60 } });
    await page.locator(`#${figure} .hovered text`).waitFor();
    assert.match(await page.locator(`#${figure} .hovered text`).textContent(), /\d/);
    assert.equal(await picture.evaluate((element) => getComputedStyle(element).cursor), cursor, figure);
  }
  await page.locator("#primal-plot svg.plot").hover({ position: { x: 300, y: 60 } });
  const [, n, variance] = (await page.locator("#primal-plot .hovered text").textContent()).match(/n = (\d+): variance ([\d.]+)/);
  const point = curve.find(({ width }) => width === Number(n));
  assert.equal(variance, point.primal_objective.toPrecision(3));
  await page.mouse.move(2, 2);
  assert.equal(await page.locator("#primal-plot .hovered").count(), 0);
  // From width 1 to 5 there are 33 points, as the program gives them.
  const points = await page.evaluate(() => document.querySelector("#primal-plot path.line.c-cost").getAttribute("d").split(/[ML]/).length - 1);
  assert.equal(points, curve.length - 5 + 33);
});

test("a chosen design can be used: command, lines for libraries, link", async () => {
  await open("model=resnet50");
  const { primal_model, primal } = answer("resnet50");
  await says("taken", primal_model);
  assert.ok((await text("taken")).includes(`${primal.score_ratio.toFixed(2)} times less`));
  await page.fill("#own", "21x6d");
  await page.press("#own", "Enter");
  await says("taken", "resnext50-21x6d");
  await settled();
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  for (const [id, line] of [
    ["export", "collegial export resnext50-21x6d --to pytorch"],
    ["torchvision", "torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [3, 4, 6, 3], groups=21, width_per_group=6, num_classes=1000)"],
    ["timm", "timm.models.resnet.ResNet(timm.models.resnet.Bottleneck, [3, 4, 6, 3], cardinality=21, base_width=6, num_classes=1000)"],
    ["collegial-torch", 'collegial.torch.build("resnext50-21x6d")'],
    ["link", await page.evaluate(() => location.href)],
  ]) {
    assert.equal(await text(id), line);
    await page.click(`#copy-${id}`);
    await says("status", "Copied");
    assert.equal(await clipboard(), line);
  }
  await page.reload();
  await says("taken", "resnext50-21x6d");
});

test("kernels are drawn again and again until the play is paused or the page goes", async () => {
  await open("model=resnext29-1x16d");
  await page.waitForSelector("#design-kernels-plot svg.plot");
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/ask/kernels") && asked.push(request.postDataJSON()));
  const drawn = async () => Number((await text("played")).match(/[\d,]+/)?.[0].replace(",", "") ?? 0);
  await page.click("#play");
  await page.waitForFunction(() => /^(2[0-9]{2}|[3-9][0-9]{2}|\d,\d{3}) draws/.test(document.getElementById("played").textContent));
  assert.equal(await text("play"), "Pause");
  // Both histograms have what was drawn, and no question asks for much.
  for (const figure of ["kernels-plot", "design-kernels-plot"]) {
    assert.match(await page.locator(`#${figure} figcaption`).innerText(), /, \d[\d,]* draws/);
    assert.ok(await page.locator(`#${figure} rect.column`).count() > 10);
  }
  assert.ok(asked.length > 4 && asked.every(({ draws }) => draws === 40), JSON.stringify(asked));
  assert.deepEqual(asked.filter(({ model }) => model === asked[0].model).map(({ first }) => first).slice(0, 3), [0, 40, 80]);
  await page.click("#play");
  assert.equal(await text("play"), "Play");
  await page.waitForTimeout(500);
  const [count, before] = [asked.length, await drawn()];
  await page.waitForTimeout(700);
  assert.deepEqual([asked.length, await drawn()], [count, before]);
  // It starts anew, and a page that goes asks no more.
  await page.click("#play");
  await page.waitForFunction(() => /draws/.test(document.getElementById("played").textContent));
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  assert.equal(await text("play"), "Play");
  await page.waitForTimeout(500);
  const after = asked.length;
  await page.waitForTimeout(700);
  assert.equal(asked.length, after);
});
