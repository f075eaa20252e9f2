/* The short lists: errors, recent fetches, traps, parked hosts, and the log. */

import { change, get, offers, session } from "./api.js";
import { add, address, badge, cut, empty, field, fill, h, hostLink, link, outcome, problem, report, route, setText, table } from "./dom.js";
import { count, isNumber, moment, NONE, relative, size, span } from "./format.js";
import { when } from "./values.js";

const LIMIT = 200;
const REFRESH_SECONDS = 10;
const TYPING_MS = 300;

const KINDS = { "2xx": "good", "3xx": "plain", "4xx": "warn", "5xx": "bad" };
const REFUSALS = [
  "challenge", "blocked", "signature-wanted", "login-required", "license-required", "payment-required",
  "legal", "protocol-wanted", "rate-limited", "script-required", "consent-required", "parked",
];
const LEVELS = { WARNING: "warn", ERROR: "bad", CRITICAL: "bad" };

function time(name) {
  return { label: "time, UTC", time: true, cell: (row) => (isNumber(row[name]) ? when(row[name]) : NONE) };
}

const via = { label: "via", cell: (row) => (row.via ? address(row.via, 120) : NONE) };
const host = { label: "host", cell: (row) => (row.key ? hostLink(row.key, 60) : NONE) };

function result(row) {
  if (isNumber(row.status)) return badge(String(row.status), KINDS[`${Math.floor(row.status / 100)}xx`]);
  return badge(row.error ?? "no response", "bad");
}

/** Return a text in whole, however long: it is wrapped. */
function whole(text) {
  return h("bdi", { class: "whole" }, cut(text, 2000));
}

export function errors(page) {
  return short(page, {
    path: "/errors",
    columns: [
      time("at"),
      { label: "error", cell: (row) => badge(row.error, "bad") },
      { label: "URL", cell: (row) => address(row.url, 200) },
      host,
      { label: "kind", cell: (row) => row.kind ?? NONE },
      { label: "attempt", number: true, cell: (row) => count(row.attempt ?? 1) },
      { label: "took", number: true, cell: (row) => span(row.seconds) },
      via,
    ],
    search: "Search in URLs",
    filters: [{ name: "error", label: "Error" }],
    about: (answer) => kinds(answer),
    tools: (act, chosen) => act("/retry", "Fetch failed URLs again", () => ({ error: chosen().error })),
    nothing: "There are no errors: each request had a response.",
  });
}

/** Return the numbers of errors by kind, each of which shows these. */
function kinds({ kinds: found = {} }) {
  const known = Object.entries(found);
  return known.length ? h("p", { class: "statuses" }, known.map(([name, number]) => h("a", { href: route("errors", { error: name }) }, badge(`${name} ${count(number)}`, "bad")))) : null;
}

/** Return the purposes for which a page may not be used. */
function disallowed(usage) {
  return Object.keys(usage).filter((purpose) => usage[purpose] === "no").join(", ");
}

export function fetches(page) {
  return short(page, {
    path: "/fetches",
    columns: [
      time("end"),
      { label: "result", cell: (row) => (row.refusal || row.withheld ? h("span", {}, result(row), " ", badge(row.refusal ?? "withheld", "warn")) : result(row)) },
      { label: "URL", cell: (row) => address(row.url, 200) },
      { label: "kind", cell: (row) => row.kind ?? NONE },
      { label: "took", number: true, cell: (row) => span(row.seconds) },
      { label: "received", number: true, cell: (row) => size(row.bytes) },
      { label: "type", cell: (row) => row.mime ?? NONE },
      { label: "not for", cell: (row) => disallowed(row.usage ?? {}) || NONE },
      { label: "depth", number: true, cell: (row) => count(row.depth) },
      via,
    ],
    search: "Search in URLs",
    filters: [
      { name: "status", label: "Status", choices: ["", "2xx", "3xx", "4xx", "5xx", "none"] },
      { name: "kind", label: "Kind", choices: ["", "page", "robots", "sitemap", "feed", "usage", "inline"] },
      { name: "host", label: "Host" },
      { name: "error", label: "Error" },
      { name: "refusal", label: "Refusal", choices: ["", "any", ...REFUSALS] },
      { name: "withheld", label: "Withheld", choices: ["", "yes"] },
    ],
    nothing: "Nothing was fetched yet.",
    help: () => ["Fetches appear when the first host was asked for its robots.txt. ", link("Add URLs", "add")],
  });
}

export function traps(page) {
  return short(page, {
    path: "/traps",
    columns: [
      { label: "pattern", cell: (row) => whole(row.pattern) },
      { label: "state", cell: (row) => (isNumber(row.released_at) ? badge("released") : badge("withheld", "warn")) },
      { label: "since", time: true, cell: (row) => (isNumber(row.since) ? when(row.since) : NONE) },
      { label: "withheld", number: true, cell: (row) => count(row.withheld) },
      { label: "examined", number: true, cell: (row) => count(row.examined) },
      { label: "reason", cell: (row) => whole(row.reason ?? "") },
      { label: "samples", cell: (row) => h("ul", { class: "samples" }, (row.samples ?? []).map((one) => h("li", {}, address(one, 2000)))) },
    ],
    rowTool: (act, row) => (isNumber(row.released_at) ? null : act("/traps/release", "Release", () => ({ traps: [row.id] }), `Release ${cut(row.pattern, 80)}`)),
    search: "Search in patterns",
    nothing: "No traps were found.",
    help: () => ["A trap is a part of a site that has pages without end. Once it is released, its URLs are crawled."],
  });
}

export function parked(page) {
  return short(page, {
    path: "/parked",
    columns: [
      { label: "host", cell: (row) => hostLink(row.key, 80) },
      { label: "reason", cell: (row) => whole(row.reason ?? "unknown") },
      { label: "until", time: true, cell: (row) => (isNumber(row.until) ? when(row.until) : NONE) },
      { label: "queued", number: true, cell: (row) => count(row.queued) },
      { label: "failures in a row", number: true, cell: (row) => count(row.failures) },
    ],
    rowTool: (act, row) => act("/hosts/unpark", "Contact it again", () => ({ hosts: [row.key] }), `Contact ${cut(row.key, 80)} again`),
    tools: (act) => act("/hosts/unpark", "Contact all of them again", () => ({ hosts: ["all"] })),
    search: "Search in hosts",
    nothing: "No host is parked.",
    help: () => ["A host is parked for some time after several failures in a row, if it asks for a pause, or while its robots.txt cannot be had."],
  });
}

/** Show the end of the crawl's logs, and follow them. */
export function log(page) {
  return short(page, {
    path: "/log",
    columns: [
      time("at"),
      { label: "level", cell: (row) => (row.level ? badge(row.level, LEVELS[row.level] ?? "plain") : NONE) },
      { label: "message", cell: (row) => [whole(row.message), row.more?.length ? h("details", {}, h("summary", {}, `${count(row.more.length)} more lines`), h("pre", { tabindex: "0" }, row.more.join("\n"))) : null] },
      { label: "logger", cell: (row) => cut(row.logger ?? NONE, 60) },
    ],
    search: "Search in messages",
    filters: [
      { name: "log", label: "Log", choices: ["crawl", "errors"] },
      { name: "level", label: "Level", choices: ["", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] },
    ],
    every: 3,
    nothing: "The log has no messages.",
    help: () => ["A crawl in a folder writes ", h("code", {}, "crawl.log"), " unless ", h("code", {}, "CRAWL_LOG"), " is off."],
  });
}

/** Return whether this browser may change the crawl. */
function mayChange() {
  return session.write && offers("POST /retry");
}

/** Return the control of a filter: a choice, or a text. */
function control({ name, choices }, query, changed) {
  const value = query[name] ?? choices?.[0] ?? "";
  if (!choices) {
    const input = h("input", { value, maxlength: "300", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("change", changed);
    return input;
  }
  const known = choices.includes(value) ? choices : [...choices, value];
  return h("select", { on: { change: changed } }, known.map((one) => h("option", { value: one, selected: one === value }, one || "all")));
}

/** Show a list that fits on a page, and read it again while it is looked at. */
async function short(page, { path, columns, search, filters = [], about, tools, rowTool, nothing, help, every = REFRESH_SECONDS }) {
  const input = h("input", { type: "search", value: page.query.q ?? "", maxlength: "2000", autocomplete: "off", spellcheck: "false" });
  const keep = h("input", { type: "checkbox", checked: true });
  const extent = h("p", { class: "extent", role: "status" });
  const place = h("div");
  const above = h("div");
  const said = outcome();
  const shown = rowTool && mayChange() ? [...columns, { label: "action", cell: (row) => rowTool(act, row) ?? NONE }] : columns;
  const controls = filters.map((one) => [one.name, control(one, page.query, changed)]);
  let typing = null;
  let number = 0;

  function chosen() {
    return Object.fromEntries(controls.map(([name, one]) => [name, one.value.trim()]));
  }

  /** Return a button that has the crawl do something, and shows what came of it. */
  function act(endpoint, label, body, name = null) {
    const button = h("button", { type: "button", "aria-label": name, on: { click: once } }, label);
    async function once() {
      button.disabled = true;
      try {
        const { sentence = "Done." } = await change("POST", endpoint, body());
        report(said, sentence);
        await load(true);
      } catch (error) {
        report(said, error.message, "bad");
      } finally {
        button.disabled = false;
      }
    }
    return button;
  }

  function changed() {
    page.address({ q: input.value.trim(), ...chosen() }, false);
    load();
  }

  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(changed, TYPING_MS);
  });
  add(page.body, [
    h(
      "form",
      { class: "tools", role: "search", on: { submit: (event) => event.preventDefault() } },
      field(search, input),
      filters.map((one, index) => h("div", { class: "filter" }, field(one.label, controls[index][1]))),
      h("label", { class: "check" }, keep, ` refresh every ${every} s`),
      h("button", { type: "button", on: { click: () => load() } }, "Refresh"),
    ),
    tools && mayChange() ? h("p", { class: "buttons" }, tools(act, chosen)) : null,
    said,
    above,
    extent,
    place,
  ]);
  page.every(every, () => keep.checked && !document.hidden && !place.contains(document.activeElement) && !isSelected(place) && load(true));

  async function load(quietly = false) {
    const mine = ++number;
    const wanted = { limit: LIMIT, search: input.value.trim(), ...chosen() };
    try {
      const answer = await get(path, wanted, page.signal);
      if (mine !== number) return;
      const rows = answer.rows ?? [];
      const isFiltered = Object.entries(wanted).some(([name, value]) => !["limit", "log"].includes(name) && value);
      if (!quietly || rows.length) setText(extent, rows.length ? extentOf(rows, answer) : "");
      if (about) fill(above, about(answer));
      if (rows.length) fill(place, table(shown, rows, document.title));
      else fill(place, isFiltered ? empty("Nothing matches.") : empty(nothing, help && h("p", {}, help())));
    } catch (error) {
      if (!page.signal.aborted && !quietly) fill(place, problem(error, () => load()));
    }
  }
  await load();
}

/** Return how many rows of how many there are, of which time, and when they were read. */
function extentOf(rows, answer) {
  const all = isNumber(answer.total) ? answer.total : null;
  const shown = all !== null && all > rows.length ? `The last ${count(rows.length)} of ${count(all)}` : rows.length >= LIMIT ? `The last ${count(rows.length)}` : `All ${count(rows.length)}`;
  const since = isNumber(answer.since) ? ` since ${moment(answer.since)} UTC` : "";
  const read = isNumber(answer.as_of) ? `, read ${relative(answer.as_of, Math.max(Date.now() / 1000, answer.as_of))}` : "";
  return `${shown}${since}${read}${answer.note ? `, ${answer.note}` : ""}`;
}

/** Return whether a person is selecting text there: it must not be taken away. */
function isSelected(element) {
  const chosen = getSelection();
  return Boolean(chosen && !chosen.isCollapsed && element.contains(chosen.anchorNode));
}
