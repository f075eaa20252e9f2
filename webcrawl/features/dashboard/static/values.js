/* Values of the API of which only the names are known: shown by the ends of their names. */

import { address, cut, facts, h, hostLink, table } from "./dom.js";
import { decimal, duration, isNumber, moment, NONE, size } from "./format.js";

const ROWS_MAX = 200;
const TIMES = new Set(["at", "time", "now", "begun", "ended", "end", "start", "begin", "modified", "date"]);
const KEYS = new Set(["key", "host"]);
const SIZES = new Set(["bytes", "length", "size", "offset"]);
const DURATIONS = new Set(["delay", "took", "duration", "seconds", "crawl_delay"]);
/** The least number that is taken for epoch seconds: the end of 2001. */
const EPOCH_LEAST = 1e9;

/** Return a name as words. */
export function words(name) {
  return String(name).replaceAll("_", " ");
}

/** Return one value as text or element. */
export function shown(name, value, most = 160) {
  if (value === null || value === undefined || value === "") return NONE;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (isNumber(value)) return number(name, value);
  if (Array.isArray(value)) {
    if (!value.length) return "none";
    if (value.every((one) => typeof one !== "object")) return joined(name, value, most);
    return rowsOf(value, words(name));
  }
  if (typeof value === "object") return tree(value);
  if (KEYS.has(name)) return hostLink(value);
  if (/^https?:\/\/./i.test(value)) return address(value, most);
  return h("bdi", {}, cut(value, 10 * most));
}

function number(name, value) {
  const last = name.split("_").at(-1);
  if (TIMES.has(last) && value >= EPOCH_LEAST) return `${moment(value)}`;
  if (SIZES.has(last)) return size(value);
  if (last === "seconds" || DURATIONS.has(name)) return duration(value);
  return decimal(value);
}

function joined(name, values, most) {
  const some = values.slice(0, 50).map((one) => shown(name.replace(/s$/, ""), one, most));
  const more = values.length > some.length ? ` and ${values.length - some.length} more` : "";
  return h("span", {}, some.flatMap((one, index) => (index ? [", ", one] : [one])), more);
}

/** Return an object as names with values. */
export function tree(object, labels = {}) {
  const rows = Object.entries(object).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (!rows.length) return NONE;
  return facts(rows.map(([name, value]) => [labels[name] ?? words(name), shown(name, value)]));
}

/** Return objects as a table, with a column for each name that has a value in any of them. `first`: these come first. */
export function rowsOf(rows, caption, first = [], labels = {}) {
  const some = rows.slice(0, ROWS_MAX).map((one) => (one && typeof one === "object" && !Array.isArray(one) ? one : { value: one }));
  const names = [...new Set(some.flatMap((one) => Object.keys(one).filter((name) => one[name] !== null && one[name] !== "")))];
  names.sort((one, other) => place(one) - place(other));
  function place(name) {
    const at = first.indexOf(name);
    return at < 0 ? first.length : at;
  }
  const columns = names.map((name) => ({
    label: labels[name] ?? words(name),
    number: some.every((one) => one[name] === null || one[name] === undefined || (isNumber(one[name]) && !TIMES.has(name.split("_").at(-1)))),
    cell: (one) => shown(name, one[name]),
  }));
  const made = table(columns, some, caption);
  return rows.length > some.length ? h("div", {}, made, h("p", { class: "quiet" }, `The first ${ROWS_MAX} of ${rows.length}.`)) : made;
}
