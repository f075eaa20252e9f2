/* The hosts of the crawl, and one of them in whole. */

import { change, get, offers, session } from "./api.js";
import { add, announce, badge, confirmed, copyButton, cut, empty, field, fill, h, hostLink, link, outcome, problem, report, section } from "./dom.js";
import { count, duration, isNumber, NONE, relative } from "./format.js";
import { listing } from "./listing.js";
import { rowsOf, shown, tree } from "./values.js";

const STATES = { active: "good", ready: "good", waiting: "plain", parked: "warn", given_up: "bad", empty: "plain" };

const COLUMNS = [
  { name: "host", label: "host", sort: "asc", cell: (row) => hostLink(row.key, 60) },
  { name: "state", label: "state", sort: "asc", cell: (row) => badge(String(row.state ?? NONE).replaceAll("_", " "), STATES[row.state]) },
  { name: "queued", label: "queued", sort: "desc", number: true, cell: (row) => count(row.queued) },
  { name: "requests", label: "requests", sort: "desc", number: true, cell: (row) => count(row.requests) },
  { name: "pages", label: "pages", sort: "desc", number: true, cell: (row) => count(row.pages) },
  { name: "delay", label: "delay", sort: "desc", number: true, cell: (row) => duration(row.delay) },
  { name: "next_at", label: "next request", sort: "asc", number: true, cell: (row, answer) => next(row, answer.as_of) },
  { name: "failures", label: "failures", sort: "desc", number: true, cell: (row) => count(row.failures) },
  { name: "health", label: "last error", sort: "desc", cell: (row) => (row.health ? cut(row.health, 60) : NONE) },
];

function next(row, asOf) {
  if (!isNumber(row.next_at) || !row.next_at) return NONE;
  const from = asOf ?? Date.now() / 1000;
  return row.next_at <= from ? (row.queued ? "due" : NONE) : relative(row.next_at, from);
}

export function list(page) {
  listing(page, {
    path: "/hosts",
    title: "Hosts",
    columns: COLUMNS,
    search: "Search for a part of a name",
    filter: {
      name: "state",
      label: "State",
      choices: [["", "all"], ...[...Object.keys(STATES), "refusing"].map((name) => [name, name.replaceAll("_", " ")])],
    },
    sort: { name: "queued", order: "desc" },
    every: 5,
    nothing: () => empty("No host is known yet.", h("p", {}, "A host appears with its first URL. ", link("Add URLs", "add"))),
  });
}

// -- one host ---------------------------------------------------------------------------------------------------

export async function one(page) {
  const key = page.query.key ?? "";
  const search = searchForm(key);
  const found = h("div");
  add(page.body, [search, found]);
  if (!key) return;
  page.title(cut(key, 80));

  async function load() {
    try {
      const host = await get("/host", { key }, page.signal);
      fill(found, whole(key, host, load));
    } catch (error) {
      if (page.signal.aborted) return;
      if (error.status === 404) fill(found, unknown(key, load));
      else fill(found, problem(error, load));
    }
  }
  await load();
}

function searchForm(key) {
  const input = h("input", { name: "key", value: key, required: true, maxlength: "300", autocomplete: "off", spellcheck: "false" });
  return h(
    "form",
    {
      class: "tools",
      role: "search",
      on: {
        submit: (event) => {
          event.preventDefault();
          location.hash = `#/host?${new URLSearchParams({ key: input.value.trim() })}`;
        },
      },
    },
    field("Host", input),
    h("button", {}, "Show"),
  );
}

function unknown(key, again) {
  return [
    empty(
      "The crawl knows no such host.",
      h("p", {}, "The name is that of a queue: a host, or the registrable domain of several; ports have no queues of their own. ", link("Search in all hosts", "hosts", { q: key })),
    ),
    steering(key, {}, again),
  ];
}

/** Lists that a host may come with, and which of their columns come first. */
const LISTS = {
  queue: ["Next in its queue", ["url", "level", "depth", "position"]],
  head: ["Next in its queue", ["url", "level", "depth", "position"]],
  queue_head: ["Next in its queue", ["url", "level", "depth", "position"]],
  fetches: ["Last fetches", ["end", "at", "status", "url"]],
  last_fetches: ["Last fetches", ["end", "at", "status", "url"]],
  errors: ["Errors", ["end", "at", "status", "error", "url"]],
};

/** Return everything that is known of a host. `again`: loads it once more. */
function whole(key, host, again) {
  const record = { ...(host.record ?? {}) };
  const rest = Object.entries(host).filter(([name]) => !(name in LISTS) && !["record", "robots", "key", "excluded"].includes(name));
  const plain = Object.fromEntries(rest.filter(([, value]) => typeof value !== "object"));
  const nested = rest.filter(([, value]) => value !== null && typeof value === "object");
  const lists = Object.entries(LISTS).filter(([name]) => Array.isArray(host[name]));
  return [
    h("p", { class: "key-line" }, h("bdi", {}, cut(key, 300)), copyButton(key, "host")),
    host.excluded ? h("p", { class: "verdict bad" }, `Nothing of this host is fetched: it is excluded. ${cut(host.excluded, 300)}`) : null,
    section("State", tree({ ...plain, ...record })),
    steering(key, host, again),
    host.robots ? section("robots.txt", robots(host.robots)) : null,
    nested.filter(([, value]) => !isEmpty(value)).map(([name, value]) => section(capital(name), Array.isArray(value) ? rowsOf(value, name) : tree(value))),
    lists.map(([name, [title, first]]) => {
      const value = host[name];
      return section(title, value.length ? rowsOf(value, title, first) : h("p", { class: "quiet" }, "None."));
    }),
  ];
}

function isEmpty(value) {
  return Array.isArray(value) ? !value.length : !Object.keys(value).length;
}

function capital(name) {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function robots(found) {
  if (typeof found === "string") return h("pre", { tabindex: "0" }, cut(found, 20_000));
  const given = Array.isArray(found) ? found : [found];
  return given.map((one) => {
    if (!one || typeof one !== "object") return h("p", {}, shown("robots", one));
    const { text: body, ...rest } = one;
    return [tree(rest), body ? h("details", {}, h("summary", {}, "its text"), h("pre", { tabindex: "0" }, cut(body, 20_000))) : null];
  });
}

/** Return the forms for a host: its delay, and its exclusion. */
function steering(key, host, reload) {
  if (!offers("PUT /hosts/delay")) return null;
  if (!session.write) return section("Change", h("p", { class: "quiet" }, link("Log in", "login", { to: location.hash.slice(2) }), " to set a delay or to exclude the host."));
  const said = outcome();
  const value = host.delay_override ?? "";
  const delay = h("input", { type: "number", min: "0", step: "any", value: String(value), inputmode: "decimal", required: true });
  const act = async (button, sentence, method, path, body) => {
    button.disabled = true;
    try {
      const answer = await change(method, path, body);
      await reload();
      // The section is a new one.
      const place = document.querySelector(".steering .outcome");
      if (place) report(place, answer?.sentence ?? sentence);
      announce(sentence);
    } catch (error) {
      report(said, error.message, "bad");
    } finally {
      button.disabled = false;
    }
  };
  const form = h(
    "form",
    {
      class: "tools",
      on: {
        submit: (event) => {
          event.preventDefault();
          act(event.submitter, `The delay of ${key} is ${delay.value} s.`, "PUT", "/hosts/delay", { key, delay: Number(delay.value) });
        },
      },
    },
    field("Delay between two requests, in seconds", delay, "Never less than the crawl's own rules and robots.txt ask for."),
    h("button", {}, "Set the delay"),
    value === ""
      ? null
      : h(
          "button",
          { type: "button", on: { click: (event) => act(event.currentTarget, `The delay of ${key} is the crawl's own again.`, "PUT", "/hosts/delay", { key, delay: null }) } },
          "Reset",
        ),
  );
  // An entry of the exclusion file is for an editor, not for this page.
  const entry = /^(.+), by /s.exec(host.excluded ?? "")?.[1];
  const exclude = (!host.excluded || entry) && offers(entry ? "DELETE /exclusions" : "POST /exclusions") && h(
    "button",
    {
      type: "button",
      class: entry ? null : "danger",
      on: {
        click: async (event) => {
          const button = event.currentTarget;
          if (entry) return act(button, `${entry} is no longer excluded.`, "DELETE", "/exclusions", { entry });
          if (!(await confirmed(`Exclude ${cut(key, 80)}?`, "Nothing of this host is fetched any more; what is queued stays queued.", "Exclude the host"))) return undefined;
          return act(button, `${key} is excluded.`, "POST", "/exclusions", { entry: entryOf(key) });
        },
      },
    },
    entry ? `Readmit ${cut(entry, 80)}` : "Exclude this host",
  );
  const isAtRest = host.state === "parked" || host.state === "given_up";
  const again = isAtRest && simple("Contact it again", `${key} is contacted again.`, "/hosts/unpark", { hosts: [key] });
  const failed = simple("Fetch its failed URLs again", `Failed URLs of ${key} are fetched again.`, "/retry", { host: key });
  return h("div", { class: "steering" }, section("Change", form, h("p", { class: "buttons" }, exclude, again, failed), said));

  function simple(label, sentence, path, body) {
    return h("button", { type: "button", on: { click: (event) => act(event.currentTarget, sentence, "POST", path, body) } }, label);
  }
}

/** Return a queue's key as an entry of the exclusion list, which names hosts without ports. */
function entryOf(key) {
  return key.replace(/^[a-z]+:\/\//, "").replace(/:\d+$/, "");
}
