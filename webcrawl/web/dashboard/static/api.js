/* The API of this dashboard: requests, the session of this browser, and errors with a sentence. */

const TIMEOUT_MS = 40_000;
/** The token in a header that other origins cannot send; the cookie alone changes nothing. */
const CSRF_HEADER = "X-CSRF-Token";

/** What this browser may do; see GET /session. */
export const session = { public: false, read: false, write: false, name: "", csrf: null, expires_at: null };
const sessionListeners = new Set();

/** A request that was not answered, or answered with an error. */
export class ApiError extends Error {
  constructor(status, sentence, allowed = null) {
    super(sentence);
    this.status = status;
    this.allowed = allowed;
  }
}

/** Return the address of an endpoint, relative to this page. */
export function endpoint(path, query = {}) {
  const found = new URL(`api/v1${path}`, document.baseURI);
  for (const [name, value] of Object.entries(query))
    if (value !== "" && value !== null && value !== undefined) found.searchParams.set(name, value);
  return found;
}

async function request(method, path, { query, body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  if (method !== "GET" && session.csrf) headers[CSRF_HEADER] = session.csrf;
  const limits = [AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])];
  let response;
  try {
    response = await fetch(endpoint(path, query), {
      method,
      headers,
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
      signal: AbortSignal.any(limits),
      redirect: "error",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    const late = error.name === "TimeoutError";
    throw new ApiError(0, late ? "The dashboard does not answer." : "The dashboard cannot be reached: is it still running?");
  }
  const value = await response.json().catch(() => null);
  if (response.ok) return value;
  const sentence = typeof value?.error === "string" ? value.error : `The dashboard answered with status ${response.status}.`;
  throw new ApiError(response.status, asSentence(sentence), value?.allowed ?? null);
}

function asSentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export function get(path, query, signal) {
  return request("GET", path, { query, signal });
}

/** Make a change. A browser without a session is told to log in. */
export async function change(method, path, body) {
  try {
    return await request(method, path, { body });
  } catch (error) {
    // The session may be over: the next view then offers to log in.
    if (error.status === 401 || error.status === 403) await readSession().catch(() => {});
    throw error;
  }
}

const offered = new Set();

/** Read which endpoints this dashboard has: in public mode, for example, it has few. */
export async function readEndpoints() {
  const { paths = {} } = await request("GET", "/openapi.json");
  for (const [path, methods] of Object.entries(paths))
    for (const method of Object.keys(methods)) offered.add(`${method.toUpperCase()} ${path.replace(/^\/api\/v1/, "")}`);
}

/** Return whether there is an endpoint, such as `GET /hosts`. */
export function offers(name) {
  return offered.has(name);
}

/** Return whether there is an endpoint whose path begins so. */
export function offersBelow(method, path) {
  return [...offered].some((name) => name.startsWith(`${method} ${path}`));
}

export async function readSession() {
  keep(await request("GET", "/session"));
}

export async function logIn(token) {
  keep(await request("POST", "/session", { body: { token } }));
}

export async function logOut() {
  keep(await request("DELETE", "/session"));
  await readSession();
}

/** Call a function whenever the session changes. */
export function onSession(listener) {
  sessionListeners.add(listener);
}

function keep(value) {
  Object.assign(session, value);
  for (const listener of sessionListeners) listener(session);
}
