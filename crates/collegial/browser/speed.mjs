// How long a change takes on the screen: from the event to the last text, and to the frame that shows it.
//
//     COLLEGIAL=target/release/collegial node speed.mjs resnext29-1x128d
//
// COLLEGIAL names the program, CHROMIUM the browser. Thirty widths and ten settings, each after the page has come to rest, none of
// them asked for before.

import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

const program = process.env.COLLEGIAL ?? "target/debug/collegial";
const server = spawn(program, ["explore", "--no-browser"], { stdio: ["ignore", "pipe", "ignore"] });
const address = await new Promise((resolve) => server.stdout.once("data", (line) => resolve(String(line).trim())));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** In the page: milliseconds until the last text and until the next frame, of every change. */
async function changes() {
  const at = (id) => document.getElementById(id);
  const rest = async () => { while (at("results").getAttribute("aria-busy") === "true") await new Promise((resolve) => setTimeout(resolve, 20)); };
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(null);
  }));
  const timed = async (change) => {
    await rest();
    const said = new Promise((resolve) => {
      const observer = new MutationObserver(() => { observer.disconnect(); resolve(performance.now()); });
      observer.observe(at("shown"), { childList: true });
    });
    await frame();
    const start = performance.now();
    change();
    const text = await said - start;
    await frame();
    return { text, frame: performance.now() - start };
  };
  const slide = (value) => { at("width").value = value; at("width").dispatchEvent(new Event("input", { bubbles: true })); };
  const choose = (name, value) => {
    const input = document.querySelector(`input[name=${name}][value=${value}]`);
    input.checked = true;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const [widths, settings] = [[], []];
  for (let step = 0; step < 30; step++) widths.push(await timed(() => slide(Math.round((0.95 - 0.03 * step) * at("width").max))));
  for (const [name, value] of [["cost", "flops"], ["cost", "activations"], ["rule", "nearest"], ["cost", "flops"], ["cost", "params"],
    ["inputs", "white"], ["cost", "flops"], ["rule", "under"], ["cost", "activations"], ["cost", "params"]]) {
    settings.push(await timed(() => choose(name, value)));
  }
  return { widths, settings };
}

for (const model of process.argv.slice(2)) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  page.setDefaultTimeout(600_000);
  await page.goto(`${address}&model=${model}`);
  await page.waitForSelector("#kernels-plot svg.plot");
  for (const [kind, times] of Object.entries(await page.evaluate(changes))) {
    const of = (what) => {
      const sorted = times.map((time) => time[what]).sort((a, b) => a - b);
      return `least ${sorted[0].toFixed(0)} ms, median ${sorted[sorted.length >> 1].toFixed(0)} ms, most ${sorted.at(-1).toFixed(0)} ms`;
    };
    console.log(`${model}, ${times.length} ${kind}: last text ${of("text")}; frame ${of("frame")}`);
  }
  await page.close();
}
await browser.close();
server.kill("SIGINT");
