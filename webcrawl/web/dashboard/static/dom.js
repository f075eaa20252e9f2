/* Elements of the page. Every text goes through `printable` into a text node: what servers sent is never markup. */

import { count } from "./format.js";

/** Characters that could reorder or hide text, or break lines; the terminal replaces the same ones. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const KEPT = new Set(["\n", "\t"]);
export const LONGEST = 200;

/** Return a text from outside without characters that could disturb the page. */
export function printable(text) {
  return String(text).replace(UNPRINTABLE, (found) => (KEPT.has(found) ? found : "\ufffd"));
}

/** Return the beginning of a long text. */
export function cut(text, most = LONGEST) {
  const characters = Array.from(String(text ?? "").slice(0, 2 * most + 2));
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : characters.join("");
}

/**
 * Return an element. `given` has attributes; `on` in it maps events to functions, other values that are no strings
 * are properties (`disabled: true`). Children are nodes, texts, lists of them, or null for none.
 */
export function h(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  add(made, children);
  return made;
}

/** Append children to an element. */
export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : printable(child));
  }
}

/** Put children in place of those that an element has. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/** Set a text only if it differs, so that screen readers and selections are left alone. */
export function setText(element, text) {
  const shown = printable(text);
  if (element.textContent !== shown) element.textContent = shown;
}

let region = null;

/** Tell screen readers of something that has changed elsewhere on the page. */
export function announce(sentence) {
  region ??= document.getElementById("announcements");
  setText(region, sentence);
}

/** Return the address of a view of this page. */
export function route(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

/** Return a link to a view. */
export function link(text, path, query) {
  return h("a", { href: route(path, query) }, text);
}

/** Return the parsed URL if a browser may be led there: http and https only. */
function visitable(url) {
  try {
    const found = new URL(url);
    return found.protocol === "http:" || found.protocol === "https:" ? found : null;
  } catch {
    return null;
  }
}

/** Return a URL of the crawl: a link to what is known about it, with buttons to copy it and to visit it. */
export function address(url, most = LONGEST) {
  const text = String(url ?? "");
  if (!text) return document.createTextNode("–");
  const there = visitable(text);
  const shown = h("bdi", { title: text.length > most ? printable(cut(text, 2000)) : null }, cut(text, most));
  return h(
    "span",
    { class: "address" },
    there ? h("a", { href: route("url", { u: text }) }, shown) : shown,
    h(
      "span",
      { class: "deeds" },
      copyButton(text, "URL"),
      there &&
        h(
          "a",
          { class: "visit", href: there.href, rel: "noreferrer noopener", target: "_blank", title: "Visit the page on the web" },
          h("span", { "aria-hidden": "true" }, "↗"),
          h("span", { class: "unseen" }, "visit on the web, in a new tab"),
        ),
    ),
  );
}

/** Return a host as a link to its page. */
export function hostLink(key, most = 80) {
  return h("a", { href: route("host", { key }) }, h("bdi", {}, cut(key, most)));
}

/** Return a button that copies a text. */
export function copyButton(text, what) {
  const button = h(
    "button",
    { type: "button", class: "copy", title: `Copy the ${what}`, on: { click: copy } },
    sheets(),
    h("span", { class: "unseen" }, `copy the ${what}`),
  );
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      announce(`The ${what} is copied.`);
      button.classList.add("copied");
      setTimeout(() => button.classList.remove("copied"), 1200);
    } catch {
      announce("The browser does not let this page copy.");
    }
  }
  return button;
}

/** Return the icon of a copy: two sheets. */
function sheets() {
  const svg = "http://www.w3.org/2000/svg";
  const icon = document.createElementNS(svg, "svg");
  for (const [name, value] of [["viewBox", "0 0 16 16"], ["aria-hidden", "true"], ["class", "icon"]]) icon.setAttribute(name, value);
  for (const shape of ["M5.5 5.5h8v8h-8z", "M10.5 5.5v-3h-8v8h3"]) {
    const path = document.createElementNS(svg, "path");
    path.setAttribute("d", shape);
    icon.append(path);
  }
  return icon;
}

/** Return a text with a mark, for states: `kind` is good, bad, warn or plain. */
export function badge(text, kind = "plain") {
  return h("span", { class: `badge ${kind}` }, text);
}

/** Return names with values; pairs whose value is null are left out. */
export function facts(rows, kind = "facts") {
  return h(
    "dl",
    { class: kind },
    rows
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => {
        const long = (value.textContent ?? String(value)).length > 45;
        return h("div", { class: long ? "wide" : null }, h("dt", {}, name), h("dd", {}, value));
      }),
  );
}

/** Return figures in large type: pairs of an element or text, and its name. */
export function section(title, ...children) {
  const id = `s-${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

/** Return what is shown where there is nothing: a sentence, and what can be done. */
export function empty(sentence, ...children) {
  return h("div", { class: "empty" }, h("p", {}, sentence), children);
}

/** Return what is shown in place of what could not be had. `again`: tries it again. */
export function problem(error, again = null) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, h("strong", {}, error.title ?? "This cannot be shown. "), " ", error.message || String(error)),
    error.status === 401 && h("p", {}, link("Log in", "login", { to: location.hash.slice(2) })),
    again && h("button", { type: "button", on: { click: again } }, "Try again"),
  );
}

/** Return a paragraph for the result of a form. */
export function outcome() {
  return h("p", { class: "outcome", role: "status" });
}

/** Show the result of a form. */
export function report(element, sentence, kind = "good") {
  element.className = `outcome ${kind}`;
  setText(element, sentence);
}

let fields = 0;

/** Return a labelled control: `[label, control]` in a div. */
export function field(label, control, hint = null) {
  control.id ||= `f${++fields}`;
  const described = hint && h("p", { class: "hint", id: `${control.id}-hint` }, hint);
  if (described) control.setAttribute("aria-describedby", described.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, described);
}

/** Ask for a confirmation in a dialog; return whether it was given. */
export function confirmed(title, sentence, yes) {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" },
    h(
      "form",
      { method: "dialog" },
      h("h2", { id: "dialog-title" }, title),
      h("p", { id: "dialog-text" }, sentence),
      h(
        "div",
        { class: "buttons" },
        h("button", { value: "no", autofocus: true }, "Cancel"),
        h("button", { value: "yes", class: "danger" }, yes),
      ),
    ),
  );
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
    dialog.showModal();
  });
}

/** Return a table. `columns` have `label`, `cell(row)`, and `number` for those with figures, `time` for times. */
export function table(columns, rows, caption) {
  return h(
    "div",
    { class: "scrolled", tabindex: "0", role: "group", "aria-label": caption },
    h(
      "table",
      { class: "cards" },
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map((one) => h("th", { scope: "col", class: kind(one) }, one.label)))),
      h("tbody", {}, rows.map((row) => bodyRow(columns, row))),
    ),
  );
}

export function bodyRow(columns, row) {
  return h(
    "tr",
    {},
    columns.map((one, index) =>
      h(
        index ? "td" : "th",
        { scope: index ? null : "row", class: kind(one), "data-label": typeof one.label === "string" ? one.label : null },
        one.cell(row),
      ),
    ),
  );
}

/** Return the class of a column's cells. */
export function kind(column) {
  return column.number ? "number" : column.time ? "time" : null;
}

/** Return a sentence on how many rows of all are shown. */
export function extent(first, shown, total) {
  if (!total) return "none";
  return shown >= total ? `all ${count(total)}` : `${count(first + 1)} to ${count(first + shown)} of ${count(total)}`;
}
