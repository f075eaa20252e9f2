/* Stored pages: what the archive has of a URL, and full-text search. */

import { endpoint, get } from "./api.js";
import { add, address, cut, empty, facts, fill, h, hostLink, link, problem, section, setText } from "./dom.js";
import { count, isNumber, moment, NONE, size, things } from "./format.js";
import { urlForm } from "./urls.js";
import { rowsOf, shown, tree } from "./values.js";

/** Parts of an answer that are shown as tables below the page. */
const HIDDEN = new Set(["versions", "headers", "fields", "links", "duplicates", "url", "rows", "content", "record"]);

export async function show(page) {
  const url = page.query.u ?? "";
  const { form, input } = urlForm(url);
  const found = h("div");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = `#/pages?${new URLSearchParams({ u: input.value.trim() })}`;
  });
  add(page.body, [form, found]);
  if (!url) {
    add(found, [empty("Enter the URL of a page to see what the archive has of it.", h("p", {}, "The pages fetched last are in ", link("Fetches", "fetches"), "."))]);
    return;
  }
  async function load() {
    fill(found, h("p", { class: "quiet", role: "status" }, "The archive is searched…"));
    try {
      const answer = await get("/pages", { url, record: page.query.record }, page.signal);
      fill(found, stored(page, url, answer));
    } catch (error) {
      if (page.signal.aborted) return;
      if (error.status === 404) fill(found, empty(error.message, h("p", {}, link("Why?", "url", { u: url }))));
      else fill(found, problem(error, load));
    }
  }
  await load();
}

function stored(page, url, answer) {
  const versions = answer.versions ?? answer.rows ?? [];
  if (!versions.length) return empty("The archive has no version of this URL.", h("p", {}, link("What the crawl knows of it", "url", { u: url })));
  const wanted = page.query.record;
  const now = versions.find((one) => one.record === wanted) ?? versions.find((one) => one.content !== false) ?? versions[0];
  // Parts may be of each version, or of the one that was asked for.
  const part = (name) => now[name] ?? answer[name];
  const rest = Object.fromEntries(Object.entries(now).filter(([name]) => !HIDDEN.has(name)));
  const fields = part("fields");
  const links = part("links");
  const duplicates = part("duplicates");
  return [
    h("p", {}, address(answer.url ?? url, 400)),
    h("p", { class: "actions" }, link("what the crawl knows of it", "url", { u: answer.url ?? url })),
    section("Content", content(now)),
    section("This version", tree(rest)),
    section(`History: ${things(versions.length, "version")}`, history(url, versions, now)),
    part("headers") ? section("Headers", headers(part("headers"))) : null,
    fields && Object.keys(fields).length ? section("Fields", tree(fields)) : null,
    links?.length ? section(`Links: ${count(links.length)}`, linkTable(links)) : null,
    duplicates?.length ? section("Duplicates", Array.isArray(duplicates) && typeof duplicates[0] === "object" ? rowsOf(duplicates, "Duplicates", ["url"]) : h("ul", {}, duplicates.map((one) => h("li", {}, address(one))))) : null,
  ];
}

/** Return a frame in which no script runs, no form is sent and nothing is fetched. */
function content(version) {
  if (!version.record) return h("p", { class: "quiet" }, "The body of this version is not stored.");
  const source = endpoint("/pages/content", { record: version.record });
  return [
    h("p", { class: "quiet" }, "As it was stored, without scripts, and without images and styles of other addresses."),
    h("iframe", { class: "content", sandbox: "", src: source.href, title: "The stored page", loading: "lazy", referrerpolicy: "no-referrer" }),
  ];
}

function history(url, versions, now) {
  const columns = [
    {
      label: "fetched, UTC",
      cell: (one) =>
        one.record
          ? h("a", { href: `#/pages?${new URLSearchParams({ u: url, record: one.record })}`, "aria-current": one === now ? "true" : null }, moment(one.at ?? one.fetched_at ?? one.time))
          : moment(one.at ?? one.fetched_at ?? one.time),
    },
    { label: "status", number: true, cell: (one) => shown("status", one.status) },
    { label: "type", cell: (one) => cut(one.mime ?? one.type ?? NONE, 60) },
    { label: "size", number: true, cell: (one) => size(one.size ?? one.bytes ?? one.length) },
    { label: "digest", cell: (one) => h("code", {}, cut(one.digest ?? NONE, 20)) },
  ];
  return h("div", {}, tableOf(columns, versions));
}

function tableOf(columns, rows) {
  return h(
    "div",
    { class: "scrolled", tabindex: "0", role: "group", "aria-label": "Versions" },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, "Versions"),
      h("thead", {}, h("tr", {}, columns.map((one) => h("th", { scope: "col", class: one.number ? "number" : null }, one.label)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((one) => h("td", { class: one.number ? "number" : null }, one.cell(row)))))),
    ),
  );
}

function headers(found) {
  const pairs = Array.isArray(found) ? found.map((one) => (Array.isArray(one) ? one : [one.name, one.value])) : Object.entries(found);
  return facts(pairs.map(([name, value]) => [name, h("bdi", {}, cut(value, 2000))]), "facts headers");
}

function linkTable(links) {
  if (typeof links[0] === "object") return rowsOf(links, "Links", ["url", "text", "verdict"]);
  return h("ul", { class: "links" }, links.slice(0, 200).map((one) => h("li", {}, address(one, 120))), links.length > 200 && h("li", {}, `and ${count(links.length - 200)} more`));
}

// -- search -----------------------------------------------------------------------------------------------------

export async function search(page) {
  const query = page.query.q ?? "";
  const input = h("input", { type: "search", value: query, required: true, maxlength: "500", id: "search-words" });
  const said = h("p", { class: "extent", role: "status" });
  const found = h("div");
  const form = h("form", { class: "tools", role: "search" }, h("div", { class: "field" }, h("label", { for: "search-words" }, "Words in titles and texts"), input), h("button", {}, "Search"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = `#/search?${new URLSearchParams({ q: input.value.trim() })}`;
  });
  add(page.body, [form, said, found]);
  if (!query) {
    input.focus();
    return;
  }
  try {
    const { rows = [], total } = await get("/search", { q: query }, page.signal);
    if (!rows.length) return fill(found, empty("No page has these words."));
    const all = isNumber(total) && total > rows.length ? `The first ${count(rows.length)} of ${count(total)}` : things(rows.length, "page");
    setText(said, all);
    fill(found, h("ol", { class: "results" }, rows.map(result)));
  } catch (error) {
    if (!page.signal.aborted) fill(found, error.status === 404 || error.status === 409 || error.status === 501 ? empty(error.message) : problem(error));
  }
  return undefined;
}

function result(row) {
  return h(
    "li",
    {},
    h("p", { class: "result" }, h("a", { href: `#/pages?${new URLSearchParams({ u: row.url ?? "" })}` }, h("bdi", {}, cut(row.title || row.url, 160)))),
    h("p", { class: "quiet" }, address(row.url, 120), row.host ? [" ", hostLink(row.host)] : null, isNumber(row.at) ? ` ${moment(row.at)} UTC` : null),
    row.snippet || row.text ? h("p", {}, h("bdi", {}, cut(row.snippet ?? row.text, 400))) : null,
  );
}
