/* The schedules of the service: their list, one of them with its runs, and the fields for times. */

import { change, get, session } from "./api.js";
import { announce, badge, confirmed, empty, field, fill, h, outcome, problem, report, section, table } from "./dom.js";
import { count, duration, moment, NONE } from "./format.js";

const KINDS = { starting: "plain", started: "good", queued: "plain", skipped: "warn", missed: "warn", refused: "bad", ended: "plain", stopped: "plain", failed: "bad", removed: "plain" };
const LATE_SECONDS = 60;
const RUNS_SHOWN = 3;

/** The list, for the page to place. */
export const schedules = h("div");
/** One schedule in detail. */
export const details = h("div");
const said = outcome();
let drawn = "";
let shown = null;
let shownDrawn = "";
let changed = async () => {};

/** Call a function after each change, which may have started a crawl. */
export function onChange(listener) {
  changed = listener;
}

function text(value) {
  return h("bdi", {}, value ?? "");
}

function path(name, rest = "") {
  return `/schedules/${encodeURIComponent(name)}${rest}`;
}

// -- the list -------------------------------------------------------------------------------------------------

function crawlLink(run, label) {
  return run.has_begun ? h("a", { href: `crawls/${encodeURIComponent(run.crawl)}/` }, label) : label;
}

function result(run) {
  const times = run.count > 1 ? `${run.outcome} ${count(run.count)} times` : run.outcome;
  return badge(times, KINDS[run.outcome]);
}

function why(run) {
  const parts = [];
  if (run.reason) parts.push(run.reason);
  if (run.by) parts.push(`by ${run.by}`);
  if (run.crawl && run.at - run.planned_at >= LATE_SECONDS) parts.push(`late by ${duration(run.at - run.planned_at)}`);
  if (run.last_at !== null) parts.push(`until ${moment(run.last_at)}`);
  return parts.join("; ");
}

function lastRuns(row) {
  if (!row.runs.length) return NONE;
  return h("div", {}, row.runs.slice(0, RUNS_SHOWN).map((run) => h("div", {}, crawlLink(run, h("span", { class: "time" }, moment(run.planned_at))), " ", result(run))));
}

function buttons(row) {
  const button = (label, run, kind = null) =>
    h("button", { type: "button", class: kind, on: { click: run } }, label, h("span", { class: "unseen" }, ` the schedule ${row.name}`));
  const all = [button("Show", () => show(row.name))];
  if (session.write) {
    all.push(button("Start now", () => act(() => change("POST", path(row.name, "/run"), {}), `${row.name} is started.`)));
    all.push(row.enabled ? button("Pause", () => enable(row, false)) : button("Go on", () => enable(row, true)));
    all.push(button("Delete", () => remove(row), "danger"));
  }
  return h("div", { class: "buttons" }, all);
}

const COLUMNS = [
  { label: "Name", cell: (row) => text(row.name) },
  { label: "Times", cell: (row) => h("div", {}, h("div", {}, row.meaning), h("div", { class: "quiet" }, h("code", {}, row.cron), ` ${row.zone}`)) },
  { label: "Next start, UTC", time: true, cell: (row) => (row.enabled ? moment(row.next_at) : badge("paused", "warn")) },
  { label: "Last runs", cell: lastRuns },
  { label: "Commands", cell: buttons },
];

/** Read the schedules again, and the one that is shown. */
export async function lookAtSchedules() {
  if (!session.read) {
    fill(schedules);
    fill(details);
    drawn = shownDrawn = "";
    shown = null;
    return;
  }
  let rows;
  try {
    ({ rows } = await get("/schedules"));
  } catch (error) {
    fill(schedules, problem(error, lookAtSchedules));
    drawn = "";
    return;
  }
  // Only what has changed is drawn, so that the focus stays where it is.
  const next = JSON.stringify([rows, session.write]);
  if (next !== drawn) {
    drawn = next;
    const focused = schedules.contains(document.activeElement) ? document.activeElement.textContent : null;
    fill(schedules, section("Schedules", rows.length ? table(COLUMNS, rows, "Schedules") : empty("There is no schedule. An order of a new crawl can be one: choose at times."), said));
    if (focused) [...schedules.querySelectorAll("button, a")].find((one) => one.textContent === focused)?.focus();
  }
  await readShown();
}

async function act(run, sentence) {
  try {
    await run();
    report(said, sentence);
    announce(sentence);
  } catch (error) {
    report(said, error.message, "bad");
  }
  await changed();
}

function enable(row, enabled) {
  return act(() => change("PATCH", path(row.name), { enabled }), `${row.name} ${enabled ? "goes on" : "is paused"}.`);
}

async function remove(row) {
  if (await confirmed(`Delete the schedule ${row.name}?`, "It starts nothing any more. Its crawls stay.", "Delete")) {
    if (shown === row.name) hide();
    await act(() => change("DELETE", path(row.name)), `The schedule ${row.name} is deleted.`);
  }
}

// -- one schedule ---------------------------------------------------------------------------------------------

const RUN_COLUMNS = [
  { label: "Planned", time: true, cell: (run) => moment(run.planned_at) },
  { label: "Result", cell: result },
  { label: "Why", cell: (run) => text(why(run) || NONE) },
  { label: "Crawl", cell: (run) => (run.crawl ? crawlLink(run, text(run.crawl)) : NONE) },
  { label: "Ended", time: true, cell: (run) => moment(run.ended_at) },
];

async function show(name) {
  shown = name;
  shownDrawn = "";
  await readShown();
  details.querySelector("h2")?.scrollIntoView();
}

function hide() {
  shown = null;
  fill(details);
}

async function readShown() {
  if (shown === null) return;
  const name = shown;
  let row;
  try {
    row = await get(path(name));
  } catch (error) {
    fill(details, problem(error, readShown));
    return;
  }
  const next = JSON.stringify([row.runs, row.upcoming, session.write]);
  if (shown !== name || next === shownDrawn) return;
  const runs = row.runs.length ? table(RUN_COLUMNS, row.runs, `Runs of ${name}`) : empty("It has started nothing yet.");
  const starts = row.upcoming.length ? h("ul", {}, row.upcoming.map((at) => h("li", { class: "time" }, moment(at)))) : empty("It is paused.");
  const history = [h("h3", {}, "Next starts, UTC"), starts, h("h3", {}, "Last runs"), runs];
  const place = shownDrawn && details.querySelector(".history");
  shownDrawn = next;
  // The form stays as it is while somebody writes in it.
  if (place) fill(place, history);
  else
    fill(
      details,
      section(
        `Schedule ${name}`,
        h("p", {}, h("button", { type: "button", on: { click: hide } }, "Close")),
        h("p", { class: "quiet" }, `Made by ${row.created_by}, ${moment(row.created_at)}; last changed by ${row.changed_by}, ${moment(row.changed_at)}.`),
        h("div", { class: "history" }, history),
        session.write && [h("h3", {}, "Change"), changeForm(row)],
      ),
    );
}

function changeForm(row) {
  const times = timeFields(row);
  const done = outcome();
  const form = h("form", { class: "narrow" }, times.fields, h("button", {}, "Change the schedule"), done);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const after = await change("PATCH", path(row.name), times.values());
      report(done, after.enabled ? `Changed; the next start is at ${moment(after.next_at)}.` : "Changed.");
    } catch (error) {
      report(done, error.message, "bad");
    }
    await changed();
  });
  return form;
}

// -- fields ---------------------------------------------------------------------------------------------------

let zones = [];

/** Take the names of the time zones. */
export function offerZones(names) {
  zones = names;
}

function choice(options, selected) {
  return h("select", {}, options.map(([value, label]) => h("option", { value, selected: value === selected }, label)));
}

/** Return the fields for the times of a schedule, and a function that returns their values. `row`: of one that is there. */
export function timeFields(row = null) {
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const cron = h("input", { type: "text", maxlength: "100", autocomplete: "off", spellcheck: "false", placeholder: "0 5 * * *", value: row?.cron ?? "" });
  const zone = choice(zones.map((name) => [name, name]), row?.zone ?? (zones.includes(local) ? local : "UTC"));
  const overlap = choice([["skip", "it is skipped"], ["queue", "it waits for the end"]], row?.overlap ?? "skip");
  const late = h("input", { type: "number", min: "1", max: "10080", step: "1", value: String(Math.round((row?.window_seconds ?? 3600) / 60)) });
  const keep = h("input", { type: "number", min: "0", max: "1000", step: "1", value: String(row?.keep ?? 0) });
  const repetition = choice([["new", "orders a new crawl"], ["resume", "has the same crawl go on"]], "new");
  const fields = [
    field("Cron expression", cron, "Minute, hour, day of the month, month, day of the week. 30 5 * * MON-FRI is half past five on working days."),
    field("Time zone", zone),
    row ? null : field("Each start", repetition),
    field("A start while the last crawl is not over", overlap),
    field("Latest start, in minutes", late, "A start that the service missed is made up for, if it is not later than this."),
    field("Crawls that are kept", keep, "0: all. Older ones that have ended are deleted with everything that they have fetched."),
  ];
  const values = () => ({
    cron: cron.value.trim(),
    zone: zone.value,
    overlap: overlap.value,
    window_seconds: 60 * Number(late.value),
    keep: Number(keep.value),
    ...(row ? {} : { repetition: repetition.value }),
  });
  return { fields, values };
}
