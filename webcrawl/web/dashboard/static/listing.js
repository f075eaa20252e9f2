/* Tables whose rows the server sorts, filters and pages: a million of them cost as much as fifty. */

import { get } from "./api.js";
import { add, announce, bodyRow, empty, extent, field, fill, h, kind, problem, setText } from "./dom.js";
import { relative } from "./format.js";

const LIMIT = 50;
const TYPING_MS = 300;

/**
 * Show a table of an endpoint, with its state in the address of the page, so that it can be linked and gone back to.
 *
 * `path`: of the endpoint, which answers `{total?, as_of?, rows}`. `columns`: `name`, `label`, `cell(row, answer)`,
 * `number`, and `sort` if the endpoint sorts by it ("desc": descending first). `search`: label of the search field;
 * `filter`: `{name, label, choices: [[value, text]]}`; `nothing`: what is shown without rows.
 */
export function listing(page, { path, columns, title, search, filter, sort, paged = true, nothing, every = 0 }) {
  const query = { q: "", [filter?.name ?? "filter"]: "", sort: "", order: "", offset: "0", ...page.query };
  const found = h("p", { class: "extent", role: "status" });
  const head = h("tr");
  const body = h("tbody");
  const grid = h("table", { class: "cards" }, h("caption", { class: "unseen" }, title), h("thead", {}, head), body);
  const frame = h("div", { class: "scrolled", tabindex: "0", role: "group", "aria-label": title }, grid);
  const below = h("div");
  const pager = h("nav", { class: "pager", "aria-label": "Pages of the table" });
  const tools = h("form", { class: "tools", role: "search", on: { submit: (event) => event.preventDefault() } });
  let typing = null;
  let asked = 0;

  if (search) {
    const input = h("input", { type: "search", value: query.q, maxlength: "200", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => go({ q: input.value.trim(), offset: "0" }, false), TYPING_MS);
    });
    add(tools, [field(search, input)]);
  }
  if (filter) {
    const select = h(
      "select",
      { on: { change: (event) => go({ [filter.name]: event.target.value, offset: "0" }) } },
      filter.choices.map(([value, text]) => h("option", { value, selected: value === query[filter.name] }, text)),
    );
    add(tools, [field(filter.label, select)]);
  }
  add(tools, [h("button", { type: "button", class: "reload", on: { click: () => load() } }, "Refresh")]);
  add(page.body, [tools, found, frame, below, pager]);
  drawHead();
  load();
  if (every) page.every(every, () => document.hidden || load(true));

  function current() {
    return { name: query.sort || sort?.name, order: query.order || sort?.order || "asc" };
  }

  function drawHead() {
    const now = current();
    fill(
      head,
      columns.map((one) => {
        const sorted = one.sort && one.name === now.name;
        const label = one.sort
          ? h(
              "button",
              { type: "button", class: "sort", on: { click: () => sortBy(one) } },
              one.label,
              h("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (now.order === "asc" ? " ▲" : " ▼") : ""),
            )
          : one.label;
        return h(
          "th",
          {
            scope: "col",
            class: kind(one),
            "aria-sort": sorted ? (now.order === "asc" ? "ascending" : "descending") : null,
          },
          label,
        );
      }),
    );
  }

  function sortBy(column) {
    const now = current();
    const first = column.sort === "desc" ? "desc" : "asc";
    const order = now.name === column.name ? (now.order === "asc" ? "desc" : "asc") : first;
    go({ sort: column.name, order, offset: "0" });
    // The button is a new one.
    head.querySelectorAll("button")[columns.filter((one) => one.sort).indexOf(column)]?.focus();
  }

  /** Show another part. `step`: one to which the browser's back button returns. */
  function go(changes, step = true) {
    Object.assign(query, changes);
    page.address(Object.fromEntries(Object.entries(query).filter(([name, value]) => !(name === "offset" && value === "0"))), step);
    drawHead();
    load();
  }

  async function load(quietly = false) {
    const number = ++asked;
    if (!quietly) frame.setAttribute("aria-busy", "true");
    const now = current();
    const wanted = { limit: paged ? LIMIT : 200 };
    if (search) wanted.search = query.q;
    if (filter) wanted[filter.name] = query[filter.name];
    if (now.name) Object.assign(wanted, { sort: now.name, order: now.order });
    if (paged) wanted.offset = Number(query.offset) > 0 ? Math.floor(Number(query.offset)) : 0;
    try {
      const answer = await get(path, wanted, page.signal);
      if (number === asked && !page.signal.aborted) show(answer, wanted.offset ?? 0, quietly);
    } catch (error) {
      if (number !== asked || page.signal.aborted || quietly) return;
      fill(body);
      frame.hidden = true;
      setText(found, "");
      fill(pager);
      fill(below, problem(error, () => load()));
    } finally {
      if (number === asked) frame.removeAttribute("aria-busy");
    }
  }

  function show(answer, offset, quietly) {
    const rows = answer.rows ?? [];
    const total = answer.total ?? rows.length;
    fill(body, rows.map((row) => bodyRow(columns.map((one) => ({ ...one, cell: (it) => one.cell(it, answer) })), row)));
    frame.hidden = !rows.length;
    const searched = Boolean(query.q || (filter && query[filter.name]));
    const at = answer.as_of ? `, read ${relative(answer.as_of, Math.max(Date.now() / 1000, answer.as_of))}` : "";
    const sentence = rows.length ? `${capital(extent(offset, rows.length, total))}${at}` : "";
    if (!quietly || rows.length) setText(found, sentence);
    if (rows.length) fill(below);
    else if (answer.total !== undefined && answer.as_of === null) {
      fill(below, empty("The rows are being read for the first time…"));
      setTimeout(() => page.signal.aborted || load(true), 1000);
    } else if (searched) fill(below, empty("Nothing matches.", h("p", {}, clearButton())));
    else if (offset) fill(below, empty("There are no rows here.", h("p", {}, button("First rows", { offset: "0" }))));
    else fill(below, nothing());
    fill(pager, paged && total > LIMIT ? pages(offset, total) : null);
  }

  function pages(offset, total) {
    const last = Math.floor((total - 1) / LIMIT) * LIMIT;
    return [
      button("First", { offset: "0" }, offset <= 0),
      button("Previous", { offset: String(Math.max(offset - LIMIT, 0)) }, offset <= 0),
      h("span", {}, `page ${(offset / LIMIT + 1).toLocaleString("en-US", { maximumFractionDigits: 0 })} of ${(last / LIMIT + 1).toLocaleString("en-US")}`),
      button("Next", { offset: String(offset + LIMIT) }, offset + LIMIT >= total),
      button("Last", { offset: String(last) }, offset + LIMIT >= total),
    ];
  }

  function button(text, changes, disabled = false) {
    return h("button", { type: "button", disabled, on: { click: () => move(text, changes) } }, text);
  }

  function move(text, changes) {
    go(changes);
    frame.focus({ preventScroll: true });
    announce(`${text} rows of ${title}`);
  }

  function clearButton() {
    return h(
      "button",
      {
        type: "button",
        on: {
          click: () => {
            for (const one of tools.querySelectorAll("input, select")) one.value = "";
            go({ q: "", [filter?.name ?? "filter"]: "", offset: "0" });
          },
        },
      },
      "Show all",
    );
  }

  return { load };
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
