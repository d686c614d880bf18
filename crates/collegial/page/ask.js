// Questions to the program: over loopback, or, where the page stands alone, to the same code as
// WebAssembly in a worker.

import { token } from "./state.js";

const alone = document.querySelector("meta[name=answers]").content === "wasm";

/** Why there is no answer, in the program's words. */
export class RequestError extends Error {}

async function post(path, body, headers = {}) {
  let response;
  try {
    response = await fetch(path, { method: "POST", body, headers: { "X-Collegial-Token": token, ...headers } });
  } catch {
    throw new RequestError("The program does not answer any more. Start `collegial explore` again and open the address that it prints.");
  }
  const answer = await response.json();
  if (!response.ok) throw new RequestError(answer.error);
  return answer;
}

/** Two workers, so that drawing kernels keeps no drag waiting. */
const workers = {};
const waiting = new Map();
let asked = 0;

function worker(lane) {
  if (workers[lane]) return workers[lane];
  const made = new Worker("worker.js", { type: "module" });
  made.onmessage = ({ data }) => {
    const { resolve, reject } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.ok) resolve(JSON.parse(data.answer));
    else reject(new RequestError(data.answer));
  };
  made.onerror = () => waiting.forEach(({ reject }) => reject(new RequestError("The computation broke off. Reload the page.")));
  workers[lane] = made;
  return made;
}

function work(lane, kind, name, body) {
  return new Promise((resolve, reject) => {
    waiting.set(++asked, { resolve, reject });
    worker(lane).postMessage({ id: asked, kind, name, body });
  });
}

/** Whether a question takes draws. */
const slow = (verb, request) => verb === "kernels" || request.variance === "law" || request.variance === "measured";

/**
 * Resolves when no control is pressed: what an answer moves from under the pointer would not be
 * clicked.
 */
let released = Promise.resolve();
addEventListener("pointerdown", ({ target }) => {
  if (!target.closest("button, label, summary, a")) return;
  released = new Promise((resolve) => {
    // The click itself comes right behind the release.
    for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => setTimeout(resolve), { once: true, capture: true });
  });
}, { capture: true });

const answers = new Map();

/** Asks a question; the same one is asked once, and answered when no control is pressed. */
export function ask(verb, request) {
  const body = JSON.stringify(request);
  const key = `${verb} ${body}`;
  if (!answers.has(key)) {
    if (answers.size > 400) answers.clear();
    const answer = alone ? work(slow(verb, request) ? "draws" : "quick", "ask", verb, new TextEncoder().encode(body)) : post(`ask/${verb}`, body);
    answers.set(key, answer);
    answer.catch(() => answers.delete(key));
  }
  return answers.get(key).finally(() => released);
}

/** The network of a dropped file. */
export async function drop(file) {
  if (alone) return work("quick", "drop", file.name, new Uint8Array(await file.arrayBuffer()));
  return post("drop", file, { "X-File-Name": encodeURIComponent(file.name) });
}

/** The baseline that the program was started with, or none. */
export async function start() {
  return alone ? { model: null } : post("start", "");
}
