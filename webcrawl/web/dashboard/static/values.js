/* Values of the API of which only the names are known: shown by the ends of their names. */

import { address, cut, facts, h, hostLink, table } from "./dom.js";
import { decimal, isNumber, moment, NONE, size, span } from "./format.js";

const ROWS_MAX = 200;
const TIMES = new Set(["at", "time", "now", "begun", "ended", "end", "start", "begin", "modified", "date", "until"]);
const KEYS = new Set(["key", "host"]);
const SIZES = new Set(["bytes", "length", "size", "offset"]);
const DURATIONS = new Set(["delay", "took", "duration", "seconds", "crawl_delay"]);
/** Numbers that mean nothing to a person, and do not fit into those of JavaScript. */
const UNSHOWN = new Set(["fingerprint"]);
/** The least number that is taken for epoch seconds: the end of 2001. */
const EPOCH_LEAST = 1e9;

/** Return a name as words. The values have their units. */
export function words(name) {
  return String(name).replace(/_(seconds|bytes|at)$/, "").replaceAll("_", " ");
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
  if (isTime(name)) return value >= EPOCH_LEAST ? moment(value) : value ? decimal(value) : NONE;
  if (SIZES.has(last)) return size(value);
  if (last === "seconds" || DURATIONS.has(name)) return span(value);
  return decimal(value);
}

function joined(name, values, most) {
  const some = values.slice(0, 50).map((one) => shown(isNumber(one) ? name : name.replace(/s$/, ""), one, most));
  const more = values.length > some.length ? ` and ${values.length - some.length} more` : "";
  return h("span", {}, some.flatMap((one, index) => (index ? [", ", one] : [one])), more);
}

/** Return an object as names with values. */
export function tree(object) {
  const rows = Object.entries(object).filter(([name, value]) => !UNSHOWN.has(name) && !isNothing(name, value));
  if (!rows.length) return NONE;
  return facts(rows.map(([name, value]) => [words(name), shown(name, value)]));
}

function isNothing(name, value) {
  if (value === null || value === undefined || value === "") return true;
  return value === 0 && isTime(name);
}

function isTime(name) {
  return TIMES.has(name.split("_").at(-1));
}

/** Return a time for a table: without the date if it is today's. */
export function when(at) {
  const text = moment(at);
  if (!(at >= EPOCH_LEAST)) return shown("at", at);
  const today = text.slice(0, 10) === moment(Date.now() / 1000).slice(0, 10);
  return h("time", { datetime: `${text.replace(" ", "T")}Z`, title: `${text} UTC` }, today ? text.slice(11) : text);
}

/** Return objects as a table, with a column for each name that has a value in any of them. `first`: these come first; `without`: these are left out. */
export function rowsOf(rows, caption, first = [], without = []) {
  const some = rows.slice(0, ROWS_MAX).map((one) => (one && typeof one === "object" && !Array.isArray(one) ? one : { value: one }));
  const names = [...new Set(some.flatMap((one) => Object.keys(one).filter((name) => !UNSHOWN.has(name) && !without.includes(name) && !isNothing(name, one[name]))))];
  names.sort((one, other) => place(one) - place(other));
  function place(name) {
    const at = first.indexOf(name);
    return at < 0 ? first.length : at;
  }
  const columns = names.map((name) => ({
    label: words(name),
    time: isTime(name),
    number: !isTime(name) && some.every((one) => one[name] === null || one[name] === undefined || isNumber(one[name])),
    cell: (one) => (isNumber(one[name]) && isTime(name) ? when(one[name]) : shown(name, one[name])),
  }));
  const made = table(columns, some, caption);
  return rows.length > some.length ? h("div", {}, made, h("p", { class: "quiet" }, `The first ${ROWS_MAX} of ${rows.length}.`)) : made;
}
