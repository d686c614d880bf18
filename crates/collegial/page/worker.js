// The program as WebAssembly, off the page's own thread.

/** What dependencies would ask of a browser; none of it is reached. */
function unreached(module) {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = () => { throw new Error(`${name} was reached`); };
  }
  return imports;
}

const ready = WebAssembly.compileStreaming(fetch("collegial.wasm")).then((module) => WebAssembly.instantiate(module, unreached(module)));

function answer({ memory, reserve, ask, dropped }, { id, kind, name, body }) {
  const verb = new TextEncoder().encode(name);
  const place = reserve(verb.length + body.length);
  const room = new Uint8Array(memory.buffer, place, verb.length + body.length);
  room.set(verb);
  room.set(body, verb.length);
  const packed = (kind === "ask" ? ask : dropped)(verb.length);
  const bytes = new Uint8Array(memory.buffer, Number(BigInt.asUintN(32, packed >> 32n)), Number(BigInt.asUintN(32, packed)));
  const text = new TextDecoder().decode(bytes);
  postMessage({ id, ok: text[0] === "+", answer: text.slice(1) });
}

onmessage = async ({ data }) => {
  const { exports } = await ready;
  answer(exports, data);
};
