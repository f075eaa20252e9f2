/* The state of the crawl, live: server-sent events, with a reconnection and a state of the connection. */

import { endpoint } from "./api.js";

const SILENCE_MS = 15_000;
const PAUSES_MS = [1000, 2000, 5000, 10_000, 30_000];

/**
 * The last state of the crawl and who wants the next ones. `connection` is "connecting", "live", "lost" (no events
 * come) or "away" (the dashboard answers but cannot read the crawl).
 */
class Stream {
  constructor() {
    this.state = null;
    this.connection = "connecting";
    this.why = "";
    this.at = null;
    this._listeners = new Set();
    this._watchers = new Set();
    this._source = null;
    this._retry = null;
    this._silence = null;
    this._tries = 0;
  }

  /** Call a function with each state, at once if there is one. Returns what ends this. */
  listen(listener) {
    this._listeners.add(listener);
    if (this.state) listener(this.state);
    return () => this._listeners.delete(listener);
  }

  /** Call a function when the connection changes. */
  watch(watcher) {
    this._watchers.add(watcher);
    watcher(this);
  }

  open() {
    this.close();
    const source = new EventSource(endpoint("/events"));
    this._source = source;
    this._listenForSilence();
    source.addEventListener("crawl", (event) => {
      let state;
      try {
        state = JSON.parse(event.data);
      } catch {
        return;
      }
      this._tries = 0;
      this._listenForSilence();
      this.state = state;
      this.at = Date.now();
      this._connected("live");
      for (const listener of [...this._listeners]) listener(state);
    });
    source.addEventListener("away", (event) => {
      this._listenForSilence();
      let why = "";
      try {
        why = JSON.parse(event.data).error ?? "";
      } catch {
        // The sentence is only a help.
      }
      this._connected("away", why);
    });
    source.addEventListener("error", () => this._fail());
  }

  close() {
    clearTimeout(this._retry);
    clearTimeout(this._silence);
    this._source?.close();
    this._source = null;
  }

  /** A browser tries again by itself only after some errors, so this does it after all of them. */
  _fail() {
    this.close();
    this._connected("lost");
    const pause = PAUSES_MS[Math.min(this._tries++, PAUSES_MS.length - 1)];
    this._retry = setTimeout(() => this.open(), pause);
  }

  /** A connection may be gone without an error: a laptop that slept, a proxy that keeps what it got. */
  _listenForSilence() {
    clearTimeout(this._silence);
    this._silence = setTimeout(() => this._fail(), SILENCE_MS);
  }

  _connected(connection, why = "") {
    if (connection === this.connection && why === this.why) return;
    this.connection = connection;
    this.why = why;
    for (const watcher of [...this._watchers]) watcher(this);
  }
}

export const stream = new Stream();
