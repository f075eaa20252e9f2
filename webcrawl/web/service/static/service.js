/* The page of the service: its crawls, a form for new ones and for schedules, and the output of each. */

import { change, get, logIn, logOut, onSession, readSession, session } from "./api.js";
import { announce, badge, confirmed, empty, field, fill, h, outcome, problem, report, section, setText, table } from "./dom.js";
import { count, moment, NONE, rate, size, things } from "./format.js";
import { details, lookAtSchedules, offerZones, onChange, schedules, timeFields } from "./schedules.js";

const LOOK_MS = 3000;
const LINES = 200;
const KINDS = { running: "good", waiting: "plain", stopping: "warn", restarting: "warn", stopped: "plain", ended: "plain", failed: "bad" };
const STARTS = new Set(["stopped", "ended", "failed", "restarting"]);
const STOPS = new Set(["running", "waiting", "restarting"]);

const main = document.getElementById("main");
const list = h("div");
const output = h("div");
const said = outcome();
let shownLog = null;
let drawn = "";

function text(value) {
  return h("bdi", {}, value ?? "");
}

function path(name, rest = "") {
  return `/crawls/${encodeURIComponent(name)}${rest}`;
}

// -- the list -------------------------------------------------------------------------------------------------

function why(row) {
  const parts = [];
  if (row.position !== null) parts.push(`place ${row.position} in the queue`);
  if (row.next_start_at !== null) parts.push(`starts again at ${moment(row.next_start_at)}`);
  if (row.reason) parts.push(row.reason);
  return parts.join("; ");
}

function buttons(row) {
  if (!session.write) return "";
  const button = (label, run, kind = null) =>
    h("button", { type: "button", class: kind, on: { click: run } }, label, h("span", { class: "unseen" }, ` ${row.name}`));
  const made = [];
  if (row.state === "running" && !row.is_paused) made.push(button("Pause", () => steer(row, "pause")));
  if (row.state === "running" && row.is_paused) made.push(button("Resume", () => steer(row, "resume")));
  if (STARTS.has(row.state)) made.push(button("Start", () => command(row, "start", "is started")));
  if (STOPS.has(row.state)) made.push(button("Stop", () => command(row, "stop", "is told to stop")));
  if (row.pid === null) made.push(button("Remove", () => remove(row), "danger"));
  return h("div", { class: "buttons" }, made);
}

const COLUMNS = [
  { label: "Name", cell: (row) => (row.has_begun ? h("a", { href: `crawls/${encodeURIComponent(row.name)}/` }, text(row.name)) : text(row.name)) },
  { label: "State", cell: (row) => [row.is_paused ? badge("paused", "warn") : badge(row.state, KINDS[row.state]), " ", text(why(row))] },
  { label: "Spider", cell: (row) => text(row.spider) },
  { label: "URLs done", number: true, cell: (row) => count(row.figures.done ?? null) },
  { label: "Pages", number: true, cell: (row) => count(row.figures.pages ?? null) },
  { label: "Rate, this run", number: true, cell: (row) => (row.pid === null ? NONE : rate(row.figures.pages_per_second ?? null)) },
  { label: "Received", number: true, cell: (row) => size(row.figures.bytes ?? null) },
  { label: "Queued", number: true, cell: (row) => count(row.figures.queued ?? null) },
  { label: "Since", cell: (row) => moment(row.since) },
  { label: "Output", cell: (row) => h("button", { type: "button", on: { click: () => showLog(row.name) } }, "Show", h("span", { class: "unseen" }, ` the output of ${row.name}`)) },
  { label: "Commands", cell: buttons },
];

async function look() {
  if (!session.read) {
    fill(list);
    drawn = "";
    return;
  }
  let found;
  try {
    found = await get("/crawls");
  } catch (error) {
    fill(list, problem(error, look));
    drawn = "";
    return;
  }
  const running = found.rows.filter((row) => row.pid !== null).length;
  const waiting = found.rows.filter((row) => row.state === "waiting").length;
  setText(document.getElementById("summary"), `${running} of at most ${found.running_max} running, ${waiting} waiting`);
  // Only what has changed is drawn, so that the focus stays where it is.
  const next = JSON.stringify([found.rows, session.write]);
  if (next === drawn) return;
  drawn = next;
  const focused = list.contains(document.activeElement) ? document.activeElement.textContent : null;
  fill(list, found.rows.length ? table(COLUMNS, found.rows, "Crawls") : empty("There is no crawl yet."));
  if (focused) [...list.querySelectorAll("button, a")].find((one) => one.textContent === focused)?.focus();
}

async function act(run, sentence) {
  try {
    await run();
    report(said, sentence);
    announce(sentence);
  } catch (error) {
    report(said, error.message, "bad");
  }
  await look();
}

function command(row, name, done) {
  return act(() => change("POST", path(row.name, `/${name}`), {}), `${row.name} ${done}.`);
}

async function steer(row, what) {
  try {
    const { sentence } = await change("POST", path(row.name, "/commands"), { command: what });
    report(said, sentence);
    announce(sentence);
  } catch (error) {
    report(said, error.message, "bad");
  }
  await look();
}

async function remove(row) {
  const sentence = `The folder of ${row.name} is deleted with everything that it has fetched.`;
  if (await confirmed(`Remove ${row.name}?`, sentence, "Remove"))
    await act(() => change("DELETE", path(row.name), {}), `${row.name} is removed.`);
}

// -- the output -----------------------------------------------------------------------------------------------

async function showLog(name) {
  shownLog = name;
  await readLog();
  output.querySelector("h2")?.scrollIntoView();
}

async function readLog() {
  if (shownLog === null) return;
  const name = shownLog;
  try {
    const { lines } = await get(path(name, "/log"), { lines: LINES });
    const link = h("a", { href: `api/v1${path(name, "/report")}` }, "report of its last end");
    const close = h("button", { type: "button", on: { click: hideLog } }, "Close");
    fill(
      output,
      section(
        `Output of ${name}`,
        h("p", {}, close, " ", link),
        lines.length ? h("pre", { class: "scrolled", tabindex: "0" }, lines.join("\n")) : empty("It has written nothing yet."),
      ),
    );
  } catch (error) {
    fill(output, problem(error, readLog));
  }
}

function hideLog() {
  shownLog = null;
  fill(output);
}

// -- a new crawl ----------------------------------------------------------------------------------------------

function words(control) {
  return control.value.split("\n").map((line) => line.trim()).filter(Boolean);
}

function limit(setting) {
  return h("input", { type: "number", min: "0", step: "1", placeholder: "no limit", "data-setting": setting });
}

/* A list of settings, each with its meaning and a value: the rest of what an order may have. */
function settingRows(found) {
  const groups = Map.groupBy ? Map.groupBy(found, (one) => one.group) : found.reduce((all, one) => all.set(one.group, [...(all.get(one.group) ?? []), one]), new Map());
  const byName = new Map(found.map((one) => [one.name, one]));
  const rows = h("div", {});
  const choice = h("select", {}, h("option", { value: "" }, "Choose a setting"), [...groups].map(([group, some]) => h("optgroup", { label: group }, some.map((one) => h("option", { value: one.name }, one.name)))));
  choice.addEventListener("change", () => {
    const one = byName.get(choice.value);
    choice.value = "";
    if (!one || rows.querySelector(`[data-setting="${one.name}"]`)) return;
    const value = h("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: "4000", value: one.value, "data-setting": one.name });
    const away = h("button", { type: "button", on: { click: () => row.remove() } }, "Take out", h("span", { class: "unseen" }, ` ${one.name}`));
    const hint = [one.meaning, one.allowed && `Allowed: ${one.allowed}${one.unit ? ` (${one.unit})` : ""}.`].filter(Boolean).join(" ");
    const row = h("div", {}, field(one.name, value, hint), away);
    rows.append(row);
    value.focus();
  });
  return h("div", {}, rows, field("Further setting", choice, "Its meaning is shown when it is chosen."));
}

function orderForm(offer) {
  const name = h("input", { type: "text", required: true, maxlength: "64", pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}", autocomplete: "off", spellcheck: "false" });
  const spider = h("select", {}, offer.spiders.map((one) => h("option", { value: one, selected: one === "broad" }, one)));
  const seeds = h("textarea", { rows: "6", spellcheck: "false", placeholder: "https://www.example.org/" });
  const pages = limit("CLOSESPIDER_PAGECOUNT");
  const seconds = limit("CLOSESPIDER_TIMEOUT");
  const depth = limit("DEPTH_LIMIT");
  const stay = h("select", {}, [["", "everywhere"], ["domain", "within the site of the page"], ["host", "within the host of the page"]].map(([value, label]) => h("option", { value }, label)));
  const domains = h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "example.org, news.example.com" });
  const allow = h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "/articles/" });
  const spargs = h("textarea", { rows: "2", spellcheck: "false", placeholder: "NAME=VALUE" });
  const when = h("select", {}, [["now", "as soon as there is room"], ["later", "later, by hand"], ["times", "at times, again and again"]].map(([value, label]) => h("option", { value }, label)));
  offerZones(offer.zones);
  const times = timeFields();
  const timing = h("fieldset", {}, h("legend", {}, "Times"), times.fields);
  const further = h("div", {}, settingRows(offer.settings));
  const done = outcome();
  const button = h("button", {}, "Order the crawl");
  const scope = h("fieldset", {}, h("legend", {}, "Scope"), field("Links are followed", stay), field("Only these sites", domains, "Names with commas between; each covers the hosts below it. Without seeds their roots are the seeds."), field("Only URLs that match", allow, "A regular expression. Seeds need not match."));
  const own = field("Further arguments of the spider, NAME=VALUE, one a line", spargs, "As for scrapy crawl -a.");
  const form = h(
    "form",
    { class: "narrow" },
    field("Name", name, "Letters, digits, dots, hyphens and underscores. It is the name of the folder."),
    field("Spider", spider),
    field("Seeds, one a line", seeds),
    scope,
    h("fieldset", {}, h("legend", {}, "Limits"), field("Pages", pages), field("Time, in seconds", seconds), field("Depth, in links from a seed", depth)),
    h("fieldset", {}, h("legend", {}, "Settings"), further),
    own,
    field("Start", when),
    timing,
    button,
    done,
  );
  const shown = () => {
    for (const part of [seeds.parentElement, scope]) part.hidden = spider.value !== "broad";
    timing.hidden = when.value !== "times";
    name.maxLength = when.value === "times" ? 46 : 64;
    button.textContent = when.value === "times" ? "Make the schedule" : "Order the crawl";
  };
  for (const control of [spider, when]) control.addEventListener("change", shown);
  shown();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    const body = { name: name.value.trim(), spider: spider.value };
    const given = [...form.querySelectorAll("[data-setting]")].filter((one) => one.value.trim() !== "");
    const settings = given.map((one) => `${one.dataset.setting}=${one.value.trim()}`);
    const scoped = [["stay", stay.value], ["domains", domains.value.replaceAll(/[\s,]+/g, ",").replaceAll(/^,|,$/g, "")], ["allow", allow.value.trim()]];
    const named = spider.value === "broad" ? scoped.filter(([, value]) => value).map(([key, value]) => `${key}=${value}`) : [];
    const spiders = [...named, ...words(spargs)];
    if (spider.value === "broad" && words(seeds).length) body.seeds = words(seeds);
    if (settings.length) body.settings = settings;
    if (spiders.length) body.arguments = spiders;
    try {
      if (when.value === "times") {
        const row = await change("POST", "/schedules", { ...body, ...times.values() });
        report(done, `The schedule ${row.name} is made: ${row.meaning}; its next start is at ${moment(row.next_at)}.`);
      } else {
        const row = await change("POST", "/crawls", { ...body, start: when.value === "now" });
        report(done, `${row.name} is ordered: ${row.state}.`);
      }
      form.reset();
      fill(further, settingRows(offer.settings));
      shown();
    } catch (error) {
      report(done, error.message, "bad");
    } finally {
      button.disabled = false;
    }
    await lookAtAll();
  });
  return form;
}

async function offerOrder(place) {
  try {
    fill(place, orderForm(await get("/form")));
  } catch (error) {
    fill(place, problem(error, () => offerOrder(place)));
  }
}

function logInForm() {
  const token = h("input", { type: "password", required: true, autocomplete: "current-password", maxlength: "1024", spellcheck: "false" });
  const done = outcome();
  const form = h("form", { class: "narrow" }, field("Token", token, "The service shows its address with the token on the terminal at its start. The token is also in the file .service/token in the folder of the crawls."), h("button", {}, "Log in"), done);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await logIn(token.value.trim());
      await lookAtAll();
    } catch (error) {
      report(done, error.message, "bad");
      token.select();
    }
  });
  return form;
}

// -- the page -------------------------------------------------------------------------------------------------

function draw() {
  const who = document.getElementById("session");
  if (session.csrf) fill(who, h("button", { type: "button", on: { click: leave } }, session.name ? `Log out ${session.name}` : "Log out"));
  else fill(who);
  const order = h("div");
  if (session.write) offerOrder(order);
  const last = session.write ? section("New crawl", order) : session.csrf ? null : section("Log in", logInForm());
  fill(main, h("h1", {}, "Crawls"), list, said, output, schedules, details, last);
}

async function leave() {
  await act(() => logOut(), "You are logged out.");
  await lookAtSchedules();
}

async function lookAtAll() {
  await look();
  await lookAtSchedules();
}

async function begin() {
  onSession(draw);
  onChange(lookAtAll);
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) history.replaceState(null, "", location.pathname);
  try {
    await readSession();
    if (token && !session.csrf) await logIn(token);
  } catch (error) {
    draw();
    report(said, error.message, "bad");
  }
  await lookAtAll();
  setInterval(() => {
    if (document.hidden) return;
    lookAtAll();
    readLog();
  }, LOOK_MS);
}

begin();
