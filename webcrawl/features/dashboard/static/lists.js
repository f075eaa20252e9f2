/* The short lists: errors, recent fetches, traps and parked hosts. */

import { get } from "./api.js";
import { add, empty, field, fill, h, link, problem, setText } from "./dom.js";
import { clock, count } from "./format.js";
import { rowsOf } from "./values.js";

const LIMIT = 200;
const REFRESH_SECONDS = 10;
const TYPING_MS = 300;

export function errors(page) {
  return short(page, {
    path: "/errors",
    first: ["at", "end", "error", "status", "count", "url", "host"],
    search: "Search in URLs and errors",
    nothing: "There are no errors.",
  });
}

export function fetches(page) {
  return short(page, {
    path: "/fetches",
    first: ["at", "end", "status", "url", "bytes", "took", "delay"],
    search: "Search in URLs",
    nothing: "Nothing was fetched yet.",
    help: () => ["Fetches appear when the first host was asked for its robots.txt. ", link("Add URLs", "add")],
  });
}

export function traps(page) {
  return short(page, {
    path: "/traps",
    first: ["id", "pattern", "host", "key", "found_at", "count"],
    search: "Search in patterns",
    nothing: "No traps were found.",
    help: () => ["A trap is a part of a site that has pages without end. In the terminal ", h("code", {}, "scrapy traps release PATTERN"), " lets one be crawled."],
  });
}

export function parked(page) {
  return short(page, {
    path: "/parked",
    first: ["key", "host", "state", "until", "queued", "failures", "reason", "last_error"],
    search: "Search in hosts",
    nothing: "No host is parked.",
    help: () => ["A host is parked for some time after several failures in a row."],
  });
}

/** Show a list that fits on a page, and read it again while it is looked at. */
async function short(page, { path, first, search, nothing, help }) {
  const input = h("input", { type: "search", value: page.query.q ?? "", maxlength: "2000", autocomplete: "off", spellcheck: "false" });
  const keep = h("input", { type: "checkbox", checked: true });
  const extent = h("p", { class: "extent", role: "status" });
  const place = h("div");
  let typing = null;
  let number = 0;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      page.address({ q: input.value.trim() }, false);
      load();
    }, TYPING_MS);
  });
  add(page.body, [
    h(
      "form",
      { class: "tools", role: "search", on: { submit: (event) => event.preventDefault() } },
      field(search, input),
      h("label", { class: "check" }, keep, " refresh every 10 s"),
      h("button", { type: "button", on: { click: () => load() } }, "Refresh"),
    ),
    extent,
    place,
  ]);
  page.every(REFRESH_SECONDS, () => keep.checked && !document.hidden && !place.contains(document.activeElement) && load(true));

  async function load(quietly = false) {
    const mine = ++number;
    try {
      const answer = await get(path, { limit: LIMIT, search: input.value.trim() }, page.signal);
      if (mine !== number) return;
      const rows = answer.rows ?? [];
      const at = answer.as_of ? `, as of ${clock(answer.as_of)} UTC` : "";
      if (!quietly || rows.length) setText(extent, rows.length ? `${rows.length >= LIMIT ? `The last ${count(rows.length)}` : `All ${count(rows.length)}`}${at}` : "");
      if (rows.length) fill(place, rowsOf(rows, document.title, first));
      else fill(place, input.value.trim() ? empty("Nothing matches.") : empty(nothing, help && h("p", {}, help())));
    } catch (error) {
      if (!page.signal.aborted && !quietly) fill(place, problem(error, () => load()));
    }
  }
  await load();
}
