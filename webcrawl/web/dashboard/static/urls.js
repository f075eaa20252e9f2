/* One URL: why it is fetched or not; and new URLs for the crawl. */

import { change, get, offers, session } from "./api.js";
import { add, address, badge, cut, empty, field, fill, h, hostLink, link, outcome, problem, report, route, section, table } from "./dom.js";
import { count, isNumber, relative, things } from "./format.js";
import { rowsOf, tree } from "./values.js";

const URLS_MAX = 1000;
const VERDICTS = { queued: "good", known: "plain", refused: "bad", invalid: "bad" };
/** What the conclusion of an explanation means; as `scrapy explain` says it. */
const FATES = {
  done: ["Done: it was fetched, and is not fetched again.", ""],
  failed: ["It failed.", "bad"],
  refused: ["It was refused.", "bad"],
  settled: ["Known and not queued: the seen test of this crawl does not store results.", "plain"],
  waits: ["Queued.", ""],
  kept: ["Queued until the next run: its host is no longer contacted in this one.", "plain"],
  will_be_refused: ["Queued, and refused when its turn comes.", "bad"],
  would_be_refused: ["Not known; refused when it is found.", "bad"],
  would_be_queued: ["Not known; queued when it is found.", "plain"],
  robots: ["A robots.txt: fetched when a page of its origin needs it.", "plain"],
};

export function urlForm(url, label = "Show") {
  const input = h("input", { type: "url", value: url, required: true, maxlength: "8192", autocomplete: "off", spellcheck: "false", placeholder: "https://example.org/page" });
  // What is a URL here is decided by the crawl, which takes more than a browser's field: example.org, for instance.
  input.type = "text";
  const form = h("form", { class: "tools", role: "search" }, field("URL or host", input), h("button", {}, label));
  return { form, input };
}

/** Return whether a text is the name of a host, maybe with a port, and no URL. */
function isHost(text) {
  return /^[^\s/:?#@]+(:\d{1,5})?$/.test(text) && /[.:]|^localhost$/.test(text);
}

export async function show(page) {
  const url = page.query.u ?? "";
  if (isHost(url)) {
    location.replace(route("host", { key: url.toLowerCase() }));
    return;
  }
  const { form, input } = urlForm(url);
  const found = h("div");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = input.value.trim();
    location.hash = isHost(given) ? route("host", { key: given.toLowerCase() }) : route("url", { u: given });
  });
  add(page.body, [form, found]);
  if (!url) {
    add(found, [empty("Enter a URL to see whether the crawl knows it, where it is queued, which rule refuses it, and when it is its turn.")]);
    return;
  }
  async function load() {
    fill(found, h("p", { class: "quiet", role: "status" }, "The crawl is asked…"));
    try {
      fill(found, explanation(url, await get("/url", { url }, page.signal)));
    } catch (error) {
      if (!page.signal.aborted) fill(found, problem(error, load));
    }
  }
  await load();
}

/** Return what `scrapy explain` says, from the same values. */
function explanation(url, found) {
  const { conclusion = {}, scope, robots, frontier, key, clocks, log, now } = found;
  const known = found.url ?? {};
  const canonical = known.canonical ?? known.resolved ?? url;
  const mine = key?.key ?? known.key;
  const [fate, mark] = FATES[conclusion.fate] ?? [String(conclusion.fate ?? "unknown").replaceAll("_", " "), "plain"];
  const turn = isNumber(conclusion.turn_at) ? ` Its turn is about ${relative(conclusion.turn_at, now)}.` : "";
  const isRobots = conclusion.rule === "robots";
  const rule = conclusion.rule && !isRobots ? ` Rule: ${conclusion.rule}.` : "";
  const spellings = Object.fromEntries(["written", "resolved"].filter((name) => known[name] !== canonical).map((name) => [name, known[name]]));
  return [
    h("p", { class: `verdict ${mark}` }, `${isRobots ? `${fate.replace(/; refused.*/, ".")} robots.txt forbids it.` : fate}${rule}${turn}`),
    h("p", {}, address(canonical, 400)),
    h(
      "p",
      { class: "actions" },
      mine ? h("span", {}, "host: ", hostLink(mine)) : null,
      offers("GET /pages") && link("stored versions", "pages", { u: canonical }),
    ),
    injectOne(canonical, frontier?.known, frontier?.queued),
    scope ? section("Scope", h("p", {}, scope.allowed ? badge("allowed", "good") : badge("refused", "bad"), scope.decided_by ? ` by ${scope.decided_by}` : ""), details("all rules", scope.rules, ["rule", "allowed", "reason"])) : null,
    robots ? section("robots.txt", h("p", {}, robots.allowed === false ? badge("forbidden", "bad") : badge(robots.allowed ? "allowed" : "not known yet", robots.allowed ? "good" : "plain")), plain(robots, ["group", "allowed", "origin"]), details("the lines of its group", robots.group)) : null,
    frontier ? section("Frontier", plain(frontier, ["queued"]), frontier.queued ? [h("h3", {}, "In the queue"), plain(frontier.queued)] : null) : null,
    key ? section("Its host", plain(key, ["key"])) : null,
    clocks ? section("Its next request", plain(clocks, ["clocks"]), clocks.clocks?.length ? rowsOf(clocks.clocks, "Clocks") : null) : null,
    section("The URL", plain({ ...spellings, ...known }, ["steps", "host_rules", "changes", "canonical", "key", ...["written", "resolved"].filter((name) => !(name in spellings))]), details("how it got its canonical form", known.steps)),
    found.found ? section("Where it was found", plain(found.found)) : null,
    found.visits ? section("Visits", plain(found.visits)) : null,
    found.focus ? section("Relevance", plain(found.focus)) : null,
    Array.isArray(found.stored) && found.stored.length ? section("Stored versions", rowsOf(found.stored, "Stored versions")) : null,
    log ? section("Fetch log", h("p", {}, `${things(log.count ?? 0, "line")} of this URL`), log.last?.length ? rowsOf([...log.last].reverse(), "Fetches of this URL", ["start", "end", "status", "bytes", "delay"], ["url", "key"]) : null) : null,
  ];
}

function plain(object, without = []) {
  return tree(Object.fromEntries(Object.entries(object).filter(([name]) => !without.includes(name))));
}

function details(summary, rows, first) {
  return rows?.length ? h("details", {}, h("summary", {}, summary), rowsOf(rows, summary, first)) : null;
}

/** Return buttons that add the URL to the crawl, or let it be the next of its host. */
function injectOne(url, known, queued) {
  if ((known && !queued) || !session.write || !offers("POST /urls")) return null;
  const said = outcome();
  const buttons = [known ? null : ["Add it to the crawl", false], ["Fetch it next", true]].filter(Boolean).map(([label, next]) =>
    h("button", { type: "button", on: { click: () => give(next) } }, label),
  );

  async function give(next) {
    for (const one of buttons) one.disabled = true;
    try {
      const { rows = [] } = await change("POST", "/urls", { urls: [url], next });
      report(said, rows[0]?.sentence ?? "The URL was taken.", rows[0]?.verdict === "queued" ? "good" : "bad");
    } catch (error) {
      report(said, error.message, "bad");
    } finally {
      for (const one of buttons) one.disabled = false;
    }
  }
  return h("div", { class: "inject" }, buttons, said);
}

// -- new URLs ---------------------------------------------------------------------------------------------------

export function inject(page) {
  if (!session.write) {
    add(page.body, [empty("URLs are added by operators.", h("p", {}, link("Log in", "login", { to: "add" })))]);
    return;
  }
  const text = h("textarea", { rows: "6", required: true, spellcheck: "false", autocomplete: "off", placeholder: "https://example.org/" });
  const next = h("input", { type: "checkbox" });
  const button = h("button", {}, "Add to the crawl");
  const said = outcome();
  const results = h("div");
  const form = h("form", {}, field("URLs, one on each line", text, "Each is checked by the rules of the crawl's scope and by robots.txt, and fetched when it is its host's turn."), h("label", { class: "check" }, next, " fetch next: before all other URLs of their hosts, also those that are queued already"), button, said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const urls = text.value.split(/\s*\n\s*/).map((one) => one.trim()).filter(Boolean);
    if (!urls.length) return report(said, "Enter a URL.", "bad");
    if (urls.length > URLS_MAX) return report(said, `These are ${count(urls.length)} URLs. At most ${count(URLS_MAX)} can be added at once; more are given to the crawl as a file.`, "bad");
    button.disabled = true;
    try {
      const { rows = [] } = await change("POST", "/urls", { urls, next: next.checked });
      const queued = rows.filter((one) => one.verdict === "queued").length;
      report(said, `${things(queued, "URL")} of ${count(rows.length)} queued.`, queued ? "good" : "bad");
      fill(results, section("Verdicts", verdicts(rows)));
      if (queued === rows.length) text.value = "";
    } catch (error) {
      report(said, error.message, "bad");
    } finally {
      button.disabled = false;
    }
    return undefined;
  });
  add(page.body, [form, results]);
}

function verdicts(rows) {
  const columns = [
    { label: "URL", cell: (row) => address(row.url, 120) },
    { label: "verdict", cell: (row) => badge(row.verdict, VERDICTS[row.verdict]) },
    { label: "robots.txt", cell: (row) => cut(typeof row.robots === "object" ? JSON.stringify(row.robots) : (row.robots ?? "–"), 80) },
    { label: "why", cell: (row) => [row.sentence ?? "", row.rule ? ` (${row.rule})` : ""] },
  ];
  return table(columns, rows, "Verdicts");
}
