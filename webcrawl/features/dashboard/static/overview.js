/* The crawl at a glance, and its time series. */

import { get, offers } from "./api.js";
import { add, badge, facts, fill, h, section, setText, table } from "./dom.js";
import { count, duration, isNumber, moment, NONE, ofUnit, percent, rate, relative, size, speed, things } from "./format.js";
import { Graph } from "./graphs.js";

const RANGES = [
  ["10min", "10 min", 600],
  ["2h", "2 hours", 7200],
  ["1d", "1 day", 86_400],
  ["1mo", "1 month", 2_592_000],
  ["all", "all", null],
];
const POINTS = 300;
/** The series that belong into one graph; each other one has a graph of its own. */
const TOGETHER = [
  { title: "Pages per second", names: ["pages"] },
  { title: "Bytes per second", names: ["bytes"] },
  { title: "Queued URLs", names: ["queued"] },
  { title: "Hosts", names: ["active", "ready"] },
  { title: "Errors per second", names: ["errors"] },
];

export async function show(page) {
  const large = figures();
  const polite = h("p", { class: "verdict" });
  const about = h("div");
  const workers = h("div");
  const graphs = h("div", { class: "graphs" });
  const ranges = h("div", { class: "ranges", role: "group", "aria-label": "Time shown" });
  const hasSeries = offers("GET /series/names");
  add(page.body, [
    large.element,
    polite,
    hasSeries && section("Over time", ranges, graphs),
    section("This crawl", about),
    section("Workers", workers),
  ]);
  const course = new Course(page, ranges, graphs);
  page.listen((state) => {
    page.title("Overview");
    large.show(state);
    showPoliteness(polite, state);
    fill(about, aboutCrawl(state));
    showWorkers(workers, state);
    course.follow(state);
  });
  if (hasSeries) await course.begin();
}

/** The five figures in large type. */
function figures() {
  const names = ["pages", "received", "URLs queued", "hosts ready / active", "errors"];
  const values = names.map(() => h("dd", {}, NONE));
  const notes = names.map(() => h("dd", { class: "note" }));
  const element = h("dl", { class: "large" }, names.map((name, index) => h("div", {}, h("dt", {}, name), values[index], notes[index])));
  const show = (state) => {
    const { counts = {}, rates = {}, totals = {} } = state;
    const texts = [
      [rate(rates.pages), isNumber(totals.pages) ? `${count(totals.pages)} in all, mean ${rate(rates.pages_mean)}` : ""],
      [speed(rates.bytes), isNumber(totals.bytes) ? `${size(totals.bytes)} in all` : ""],
      [count(counts.queued), `${count(counts.done)} done`],
      [`${count(counts.ready)} / ${count(counts.active)}`, `of ${things(counts.hosts, "host")}`],
      [count(totals.errors ?? counts.failed), counts.parked || counts.given_up ? `${things(counts.parked ?? 0, "host")} parked, ${count(counts.given_up ?? 0)} given up` : ""],
    ];
    texts.forEach(([value, note], index) => {
      setText(values[index], value);
      setText(notes[index], note);
    });
  };
  return { element, show };
}

/** Say what limits the speed of the crawl. */
function showPoliteness(element, state) {
  const { politeness = {}, counts = {}, rates = {} } = state;
  const capacity = politeness.capacity_per_second;
  let sentence = `Each host waits at least ${duration(politeness.min_delay)} between two requests.`;
  let kind = "";
  if (state.state === "running" && isNumber(capacity) && capacity > 0 && isNumber(rates.pages)) {
    const share = politeness.share ?? rates.pages / capacity;
    sentence = `The delays of ${things(counts.active, "active host")} allow ${rate(capacity)}; the crawl fetches ${rate(rates.pages)}: ${percent(Math.min(share, 1))} of that. `;
    sentence += share >= 0.7 ? "Politeness is the limit: more hosts would make it faster, more workers would not." : "";
  } else if (state.state === "running" && counts.active) {
    sentence = `${things(counts.active, "host")} active; ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
  } else if (state.state !== "running") {
    const why = state.reason ? `: ${state.reason}` : "";
    sentence = `The crawl is ${state.state}${why}. ${sentence}`;
    kind = state.state === "killed" ? "bad" : "idle";
  }
  element.className = `verdict ${kind}`;
  setText(element, sentence);
}

function aboutCrawl(state) {
  const { disk = {}, memory = {}, bandwidth = {}, limits = {}, counts = {} } = state;
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
    ["URLs done", count(counts.done)],
    ["failed, refused", `${count(counts.failed)}, ${count(counts.refused)}`],
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
  const late = (one) => isNumber(one.heartbeat_at) && state.now - one.heartbeat_at > 15;
  const known = workers.some((one) => one.state || one.heartbeat_at);
  const columns = [
    { label: "worker", cell: (one) => h("bdi", {}, one.name ?? "") },
    known && { label: "state", cell: (one) => (late(one) ? badge("silent", "bad") : badge(one.state ?? "running", STATES[one.state] ?? "good")) },
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

const STATES = { running: "good", paused: "warn", stopping: "warn", silent: "bad" };
/** Figures of a worker that are worth a column. */
const FIGURES = [
  ["pages", "pages", count],
  ["pages_per_second", "pages/s", rate],
  ["bytes_per_second", "bytes/s", speed],
  ["active", "active hosts", count],
  ["ready", "ready", count],
  ["in_flight", "in flight", count],
  ["errors", "errors", count],
  ["rss", "memory", size],
  ["cpu", "CPU", percent],
];

/** The graphs of the crawl's time series: which time they show, and what is new. */
class Course {
  constructor(page, ranges, place) {
    this._page = page;
    this._place = place;
    this._range = RANGES.find(([name]) => name === page.query.range) ?? RANGES[0];
    this._graphs = [];
    this._names = [];
    this._state = null;
    this._next = 0;
    this._busy = false;
    this._buttons = RANGES.map((one) =>
      h("button", { type: "button", "aria-pressed": String(one === this._range), on: { click: () => this._choose(one) } }, one[1]),
    );
    fill(ranges, this._buttons);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const restyle = () => this._graphs.forEach((graph) => graph.restyle());
    dark.addEventListener("change", restyle);
    page.leaving(() => {
      dark.removeEventListener("change", restyle);
      this._graphs.forEach((graph) => graph.destroy());
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
    const known = described(answer);
    const used = new Set(TOGETHER.flatMap((one) => one.names));
    const groups = [
      ...TOGETHER.map((one) => ({ ...one, names: one.names.filter((name) => known.has(name)) })).filter((one) => one.names.length),
      ...[...known.keys()].filter((name) => !used.has(name)).map((name) => ({ title: title(name, known.get(name)), names: [name] })),
    ];
    this._graphs = groups.map(
      (one) =>
        new Graph({
          title: one.title,
          names: one.names,
          labels: one.names.map((name) => name.replaceAll("_", " ")),
          format: ofUnit(known.get(one.names[0]).unit),
          group: "overview",
        }),
    );
    this._names = groups.flatMap((one) => one.names);
    fill(this._place, this._graphs.map((graph) => graph.element));
    await this._load();
  }

  /** Take the newest values when there can be some. */
  follow(state) {
    this._state = state;
    if (this._names.length && !document.hidden && state.now >= this._next) this._load();
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
      const seconds = range[2] ?? Math.max(now - (this._state?.begun_at ?? now - 600), 60);
      const query = { names: this._names.join(","), from: now - seconds, to: now, points: POINTS };
      const answer = await get("/series", query, this._page.signal);
      if (range === this._range) this._draw(answer, now - seconds, now);
    } catch (error) {
      // The graphs keep what they show; the next state of the crawl tries again.
      if (!this._page.signal.aborted && !this._next) fill(this._place, h("p", { class: "quiet" }, `There are no graphs: ${error.message}`));
    } finally {
      this._busy = false;
    }
    if (range !== this._range) await this._load();
  }

  _draw(answer, from, to) {
    const series = answer.names ?? {};
    const length = Math.max(0, ...Object.values(series).map((values) => values.length));
    const times = Array.from({ length }, (_, index) => answer.start + index * answer.step);
    for (const graph of this._graphs) graph.draw(times, series, from, to);
    this._next = to + Math.max(2, Math.min(answer.step || 2, 60)) - 0.5;
  }
}

/** Return unit and meaning by name, of an object or a list. */
function described(answer) {
  const found = answer.names ?? answer;
  return new Map(Array.isArray(found) ? found.map((one) => [one.name, one]) : Object.entries(found));
}

function title(name, { meaning }) {
  return meaning && meaning.length < 60 ? meaning.charAt(0).toUpperCase() + meaning.slice(1).replace(/\.$/, "") : name.replaceAll("_", " ");
}
