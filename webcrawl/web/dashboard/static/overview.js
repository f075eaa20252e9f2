/* The crawl at a glance, and its time series. */

import { get, offers } from "./api.js";
import { add, badge, facts, fill, h, route, section, setText, table } from "./dom.js";
import { count, duration, isNumber, moment, NONE, ofUnit, rate, relative, size, span, speed, things } from "./format.js";
import { Graph } from "./graphs.js";

const RANGES = [
  ["10min", "10 min", 600],
  ["2h", "2 hours", 7200],
  ["1d", "1 day", 86_400],
  ["1mo", "1 month", 2_592_000],
  ["all", "all", null],
];
const POINTS = 300;
/** The graphs that are always shown, with the names of their series. */
const FIRST = [
  { title: "Pages per second", names: ["pages"] },
  { title: "Bytes received per second", names: ["bytes"] },
  { title: "Requests and capacity", names: ["requests", "capacity"] },
  { title: "Queued URLs", names: ["queued"] },
  { title: "Hosts with URLs, ready, parked", names: ["active", "ready", "parked"] },
  { title: "Errors and retries", names: ["errors", "retries"] },
];
/** Further graphs. A series that is in neither table gets a graph of its own. */
const MORE = [
  { title: "Pages by status", names: ["pages_2xx", "pages_3xx", "pages_4xx", "pages_5xx", "pages_other"] },
  { title: "Errors by kind", names: ["errors_dns", "errors_connect", "errors_timeout", "errors_tls", "errors_reset"] },
  { title: "Other errors", names: ["errors_protocol", "errors_refused", "errors_cancelled", "errors_other"] },
  { title: "URLs: queued, done, failed, refused", names: ["enqueued", "done", "failed", "refused"] },
  { title: "Fetches of robots.txt and sitemaps, redirects", names: ["robots", "sitemaps", "redirects"] },
  { title: "TLS connections, resumed sessions", names: ["tls_connections", "tls_resumed"] },
  { title: "Pages on their way", names: ["open", "unsettled", "parsing", "open_max"] },
  { title: "Known hosts", names: ["hosts", "given_up"] },
  { title: "Memory", names: ["rss_all", "rss"] },
  { title: "CPU", names: ["cpu_seconds", "loop_seconds"] },
  { title: "Bandwidth used, and its limit", names: ["bandwidth_used", "bandwidth_limit"] },
  { title: "Archive written", names: ["archive_bytes"] },
  { title: "Disk: free, and used by this crawl", names: ["disk_free", "crawl_bytes"] },
];
/** Series that are told elsewhere, or are part of others. */
const UNSHOWN = new Set(["disk_total", "cores", "paused", "stalled", "opens_at"]);
const LABELS = { active: "with URLs", loop_seconds: "event loop", open_max: "most", rss_all: "all processes", rss: "workers", cpu_seconds: "CPU" };

export async function show(page) {
  const large = figures();
  const polite = h("p", { class: "verdict" });
  const refused = h("p", { class: "statuses" });
  const classes = h("p", { class: "statuses" });
  const about = h("div");
  const workers = h("div");
  const graphs = h("div");
  const ranges = h("div", { class: "ranges", role: "group", "aria-label": "Time shown" });
  const hasSeries = offers("GET /series/names");
  add(page.body, [
    large.element,
    classes,
    refused,
    polite,
    hasSeries && section("Over time", ranges, graphs),
    section("This crawl", about),
    section("Workers", workers),
  ]);
  const course = new Course(page, ranges, graphs);
  page.listen((state) => {
    page.title("Overview");
    large.show(state);
    showVerdict(polite, state);
    fill(classes, statuses(state));
    fill(refused, refusals(state));
    fill(about, aboutCrawl(state));
    showWorkers(workers, state);
    course.follow(state);
  });
  if (hasSeries) await course.begin();
}

/** The figures in large type; each leads to its list. */
function figures() {
  const tiles = [
    ["pages", "fetches", { kind: "page" }],
    ["received", "fetches", {}],
    ["URLs queued", "hosts", {}],
    ["hosts with URLs", "hosts", { state: "active" }],
    ["errors", "errors", {}],
  ];
  const values = tiles.map(() => h("dd", {}, NONE));
  const notes = tiles.map(() => h("dd", { class: "note" }));
  const element = h(
    "dl",
    { class: "large" },
    tiles.map(([name, view, query], index) => {
      const shown = offers(`GET /${view}`) ? h("a", { href: route(view, query) }, name) : name;
      return h("div", {}, h("dt", {}, shown), values[index], notes[index]);
    }),
  );
  const show = (state) => {
    const { counts = {}, rates = {}, totals = {} } = state;
    const rest = [counts.parked ? `${count(counts.parked)} parked` : "", counts.given_up ? `${count(counts.given_up)} given up` : ""];
    const texts = [
      [rate(rates.pages), isNumber(totals.pages) ? `${count(totals.pages)} in all, mean ${rate(rates.pages_mean)}` : ""],
      [speed(rates.bytes), isNumber(totals.bytes) ? `${size(totals.bytes)} in all` : ""],
      [count(counts.queued), `${count(counts.done)} done, ${count(counts.failed)} failed, ${count(counts.refused)} refused`],
      [count(counts.active), [isNumber(counts.ready) ? `${count(counts.ready)} ready` : "", `of ${things(counts.hosts, "host")}`, ...rest].filter(Boolean).join(", ")],
      [count(totals.errors), "requests without a response"],
    ];
    texts.forEach(([value, note], index) => {
      setText(values[index], value);
      setText(notes[index], note);
    });
  };
  return { element, show };
}

/** Return the statuses of pages; each leads to its fetches. */
function statuses({ totals = {} }) {
  const known = ["2xx", "3xx", "4xx", "5xx"].filter((name) => isNumber(totals[`pages_${name}`]));
  if (!known.length) return null;
  const kinds = { "2xx": "good", "4xx": "warn", "5xx": "bad" };
  const shown = (name) => {
    const number = totals[`pages_${name}`];
    const text = badge(`${name} ${count(number)}`, number ? kinds[name] : "plain");
    return offers("GET /fetches") ? h("a", { href: route("fetches", { kind: "page", status: name }) }, text) : text;
  };
  return [h("span", {}, "Pages by status:"), known.map(shown)];
}

/** Return what sites refused: responses by kind, hosts that are left alone, pages that may not be used. Each leads to
 * its list. */
function refusals({ refusals: kinds = {}, counts = {} }) {
  const rows = Object.entries(kinds)
    .filter(([, number]) => number > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, number]) => [`${kind} ${count(number)}`, "fetches", { refusal: kind }]);
  if (counts.refusing > 0) rows.push([`${things(counts.refusing, "host")} left alone`, "hosts", { state: "refusing" }]);
  if (counts.withheld > 0) rows.push([`${things(counts.withheld, "page")} withheld`, "fetches", { withheld: "yes" }]);
  if (!rows.length) return [...Object.values(kinds), counts.refusing].some(isNumber) ? h("span", {}, "Refused by sites: nothing") : null;
  const shown = ([text, view, query]) => {
    const mark = badge(text, "warn");
    return offers(`GET /${view}`) ? h("a", { href: route(view, query) }, mark) : mark;
  };
  return [h("span", {}, "Refused by sites:"), rows.map(shown)];
}

/** Say what limits the speed of the crawl, and when it ends. */
function showVerdict(element, state) {
  const { politeness = {}, limit, ends } = state;
  const delay = `Each host waits at least ${duration(politeness.min_delay)} between two requests.`;
  let sentence = limit ? limit.sentence : delay;
  if (ends) sentence += ` ${ends.sentence}`;
  if (!limit && state.state !== "running") sentence = `The crawl is ${state.state}${state.reason ? `: ${state.reason}` : ""}. ${delay}`;
  const kind = state.state === "killed" || limit?.by === "storage" ? "bad" : state.state === "running" ? "" : "idle";
  element.className = `verdict ${kind}`;
  setText(element, sentence);
}

function aboutCrawl(state) {
  const { disk = {}, memory = {}, bandwidth = {}, limits = {} } = state;
  const begun = isNumber(state.begun_at) ? `${moment(state.begun_at)} UTC, ${relative(state.begun_at, state.now)}` : null;
  const free = isNumber(disk.free) ? `${size(disk.free)} free of ${size(disk.total)}` : null;
  const crawled = isNumber(disk.crawl_bytes) ? `${size(disk.crawl_bytes)} by this crawl` : null;
  const rss = isNumber(memory.rss) ? size(memory.rss) : null;
  const all = isNumber(memory.rss_all) ? `${size(memory.rss_all)} with its other processes` : null;
  const limit = isNumber(bandwidth.limit) && bandwidth.limit > 0;
  const most = [
    isNumber(limits.pages) ? `${count(limits.pages)} pages` : null,
    isNumber(limits.seconds) ? duration(limits.seconds) : null,
    isNumber(limits.bytes) ? size(limits.bytes) : null,
  ].filter(Boolean);
  const overlay = Object.keys(state.overlay ?? {});
  return facts([
    ["spider", state.spider],
    ["begun", begun],
    ["disk", [free, crawled].filter(Boolean).join(", ")],
    ["memory", [rss, all].filter(Boolean).join(", ")],
    ["bandwidth", limit ? `${speed(bandwidth.used)} of at most ${speed(bandwidth.limit)}` : null],
    ["limits", most.join(", ") || "none"],
    ["changed settings", overlay.length ? h("a", { href: "#/settings" }, overlay.join(", ")) : null],
    ["User-Agent", state.user_agent],
    ["state in", [state.storage, state.jobdir].filter(Boolean).join(", ")],
  ]);
}

function showWorkers(element, state) {
  const workers = state.workers ?? [];
  if (!workers.length) return fill(element, h("p", { class: "quiet" }, "No worker runs now."));
  const known = workers.some((one) => one.state || one.heartbeat_at);
  const columns = [
    { label: "worker", cell: (one) => h("bdi", {}, one.name ?? "") },
    known && { label: "state", cell: (one) => badge(one.state ?? "running", STATES[one.state] ?? "good") },
    workers.some((one) => one.host) && { label: "on", cell: (one) => `${one.host ?? NONE}${one.pid ? ` (${one.pid})` : ""}` },
    { label: "since", cell: (one) => (isNumber(one.started_at) ? relative(one.started_at, state.now).replace(" ago", "") : NONE), number: true },
    { label: "last sign", cell: (one) => relative(one.heartbeat_at, state.now), number: true },
    ...FIGURES.filter(([name]) => workers.some((one) => isNumber(one.figures?.[name]))).map(([name, label, format]) => ({
      label,
      number: true,
      cell: (one) => format(one.figures?.[name]),
    })),
  ].filter(Boolean);
  return fill(element, table(columns, workers, "Workers"));
}

const STATES = { running: "good", paused: "warn", stopping: "warn", stalled: "bad", silent: "bad", lost: "bad" };
/** Figures of a worker that are worth a column. */
const FIGURES = [
  ["pages", "pages", count],
  ["bytes", "received", size],
  ["active", "hosts with URLs", count],
  ["ready", "ready", count],
  ["open", "open", count],
  ["errors", "errors", count],
  ["rss_all", "memory", size],
  ["loop_lag", "loop delay", span],
];

/** The graphs of the crawl's time series: which time they show, and what is new. */
class Course {
  constructor(page, ranges, place) {
    this._page = page;
    this._place = place;
    this._range = RANGES.find(([name]) => name === page.query.range) ?? RANGES[0];
    this._graphs = [];
    this._all = [];
    this._state = null;
    this._next = 0;
    this._busy = false;
    this._marks = [];
    this._markedAt = 0;
    this._buttons = RANGES.map((one) =>
      h("button", { type: "button", "aria-pressed": String(one === this._range), on: { click: () => this._choose(one) } }, one[1]),
    );
    fill(ranges, this._buttons);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const restyle = () => this._all.forEach((graph) => graph.restyle());
    dark.addEventListener("change", restyle);
    page.leaving(() => {
      dark.removeEventListener("change", restyle);
      this._all.forEach((graph) => graph.destroy());
    });
  }

  async begin() {
    let answer;
    try {
      answer = await get("/series/names", {}, this._page.signal);
    } catch (error) {
      if (!this._page.signal.aborted) fill(this._place, h("p", { class: "quiet" }, `There are no graphs: ${error.message}`));
      return;
    }
    const known = new Map((answer.rows ?? []).map((one) => [one.name, one]));
    const named = new Set([...FIRST, ...MORE].flatMap((one) => one.names));
    const others = [...known.values()].filter((one) => !named.has(one.name) && !UNSHOWN.has(one.name));
    const there = (groups) => groups.map((one) => graph(one, known)).filter(Boolean);
    const first = there(FIRST);
    const more = there([...MORE, ...others.map((one) => ({ title: title(one), names: [one.name] }))]);
    this._graphs = first;
    const details = h("details", { class: "more" }, h("summary", {}, `${more.length} more graphs`), h("div", { class: "graphs" }, more.map((one) => one.element)));
    details.addEventListener("toggle", () => {
      this._graphs = details.open ? [...first, ...more] : first;
      if (details.open) this._load();
    });
    this._all = [...first, ...more];
    fill(this._place, h("div", { class: "graphs" }, first.map((one) => one.element)), more.length ? details : null);
    await this._load();
  }

  /** Take the newest values when there can be some. */
  follow(state) {
    this._state = state;
    if (this._graphs.length && !document.hidden && state.now >= this._next) this._load();
  }

  async _choose(range) {
    this._range = range;
    this._buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(RANGES[index] === range)));
    this._page.address({ range: range[0] }, false);
    await this._load();
  }

  async _load() {
    if (this._busy) return;
    this._busy = true;
    const range = this._range;
    try {
      const now = this._state?.now ?? Date.now() / 1000;
      const from = range[2] ? now - range[2] : null;
      const names = this._graphs.flatMap((one) => one.names);
      const answer = await get("/series", { names: names.join(","), from, points: POINTS }, this._page.signal);
      await this._readMarks();
      if (range === this._range) this._draw(answer, Math.max(from ?? 0, answer.start), now);
    } catch (error) {
      // The graphs keep what they show; the next state of the crawl tries again.
      if (!this._page.signal.aborted && !this._next) fill(this._place, h("p", { class: "quiet" }, `There are no graphs: ${error.message}`));
    } finally {
      this._busy = false;
    }
    if (range !== this._range) await this._load();
  }

  /** Read when runs began and ended, and what operators changed, at most every ten seconds. */
  async _readMarks() {
    if (!offers("GET /marks") || Date.now() - this._markedAt < 10_000) return;
    this._markedAt = Date.now();
    try {
      this._marks = (await get("/marks", {}, this._page.signal)).rows ?? [];
    } catch {
      // Graphs without marks are graphs, too.
    }
  }

  _draw(answer, from, to) {
    const series = answer.names ?? {};
    let length = Math.max(0, ...Object.values(series).map((values) => values.length));
    // The last step is still going on: what it has so far would look like a fall.
    if (length > 2 && answer.start + length * answer.step > to) length -= 1;
    const times = Array.from({ length }, (_, index) => answer.start + (index + 0.5) * answer.step);
    const end = Math.max(answer.start + length * answer.step, from + 1);
    const whole = Object.fromEntries(Object.entries(series).map(([name, values]) => [name, values.slice(0, length)]));
    for (const one of this._graphs) if (one.names.every((name) => name in whole)) one.draw(times, whole, from, end, this._marks);
    this._next = to + Math.max(2, Math.min(answer.step || 2, 60)) - 0.5;
  }
}

/** Return the graph of those of its series that are known; null if none is. */
function graph({ title: text, names }, known) {
  const there = names.filter((name) => known.has(name));
  if (!there.length) return null;
  return new Graph({
    title: text,
    names: there,
    labels: there.map((name) => LABELS[name] ?? name.replace(/^(pages|errors|bandwidth)_/, "").replaceAll("_", " ")),
    format: ofUnit(known.get(there[0]).unit),
    group: "overview",
  });
}

function title({ name, meaning }) {
  const short = (meaning ?? "").replace(/[.:;(].*/s, "");
  return short && short.length < 60 ? short : name.replaceAll("_", " ");
}
