// The server: requests, its clock, and its events.

/** A refusal of the server, or a reply that did not come: `type` is then "no-reply". */
export class Refusal extends Error {
  constructor(problem, status, retryAfterMs = 0) {
    super(problem.detail ?? problem.title ?? problem.type);
    this.type = String(problem.type ?? 'failed').replace('urn:rushgate:problem:', '');
    this.status = status;
    this.order = problem.order;
    this.state = problem.state;
    this.detail = problem.detail;
    this.retryAfterMs = retryAfterMs;
  }
  /** It is unknown, or certain that nothing was done: the same request may succeed later. */
  get isPassing() { return this.type === 'no-reply' || this.status === 503 || this.status === 504; }
}

let token = null;
export function setToken(value) { token = value; }
export const hasToken = () => Boolean(token);

const PATIENCE_MS = 15_000;

/** Sends a request, and returns the reply's JSON. Throws a Refusal. */
export async function call(method, path, { body, key, headers = {} } = {}) {
  const fields = { ...headers };
  if (token) fields.Authorization = `Bearer ${token}`;
  if (key) fields['Idempotency-Key'] = key;
  if (body !== undefined) fields['Content-Type'] = 'application/json';
  let reply;
  let json;
  try {
    reply = await fetch(path, {
      method, headers: fields, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(PATIENCE_MS),
    });
    json = await reply.json();
  } catch (error) {
    throw new Refusal({ type: 'no-reply', detail: String(error) }, 0);
  }
  if (reply.ok) return json;
  throw new Refusal(json, reply.status, 1000 * Number(reply.headers.get('Retry-After') ?? 0));
}

export const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Waits that grow while nothing works, by chance, so that not all clients come back at once. */
export class Patience {
  #ms = 500;
  reset() { this.#ms = 500; }
  next(atLeastMs = 0) {
    const ms = Math.max(atLeastMs, this.#ms * (0.5 + Math.random()));
    this.#ms = Math.min(8000, this.#ms * 2);
    return wait(ms);
  }
}

// ---- The clock ----

let offsetMs = Date.now() - performance.now();  // of the server's clock from that of this page
let facts = null;

/** Returns the server's time, in ms since 1970. The clock of this machine may be wrong, and may jump. */
export const now = () => performance.now() + offsetMs;

/** Reads the server's clock, and what else a page needs to know. */
export async function readServer() {
  let bestMs = Infinity;
  for (let i = 0; i < 3; i += 1) {
    const sent = performance.now();
    facts = await call('GET', '/v1/server');
    const roundMs = performance.now() - sent;
    if (roundMs >= bestMs) continue;
    bestMs = roundMs;
    offsetMs = facts.now_ms + roundMs / 2 - performance.now();
  }
  return facts;
}
export const serverFacts = () => facts;

// ---- Events ----

/** Reads server-sent events for ever, also after the server was away. `onEvent(data)` gets each one;
 * `onState(isOpen)` the connection's state; the next connection begins after the last id. */
export async function follow(path, { onEvent, onState, signal, after }) {
  const patience = new Patience();
  let lastId = after;
  while (!signal?.aborted) {
    try {
      const headers = { Accept: 'text/event-stream' };
      if (token) headers.Authorization = `Bearer ${token}`;
      if (lastId !== undefined) headers['Last-Event-ID'] = lastId;
      const reply = await fetch(path, { headers, cache: 'no-store', credentials: 'omit', signal });
      if (!reply.ok) throw new Error(`status ${reply.status}`);
      onState?.(true);
      patience.reset();
      lastId = await readEvents(reply.body, lastId, onEvent);
    } catch { /* as if it had ended */ }
    if (signal?.aborted) return;
    onState?.(false);
    await patience.next();
  }
}

// Comments come every 15 s: a connection that is silent for longer is dead.
const SILENCE_MS = 40_000;

async function readEvents(stream, firstId, onEvent) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let id = firstId;
  for (;;) {
    const timeout = new AbortController();
    const silence = setTimeout(() => { timeout.abort(); reader.cancel().catch(() => {}); }, SILENCE_MS);
    let part;
    try { part = await reader.read(); } catch { return id; } finally { clearTimeout(silence); }
    if (part.done) return id;
    const events = (rest + part.value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      let data = null;
      for (const line of event.split('\n')) {
        if (line.startsWith('id: ')) id = line.slice(4);
        if (line.startsWith('data: ')) data = JSON.parse(line.slice(6));
      }
      if (data !== null) onEvent(data);
    }
  }
}
