/* Who may do what: logging in, the two forms of public mode, and suggestions. */

import { change, get, logIn, offers, offersBelow, session } from "./api.js";
import { add, address, badge, cut, empty, field, fill, h, link, outcome, problem, report, table } from "./dom.js";
import { moment, NONE } from "./format.js";

/** What the fate of a URL means to a visitor. */
const FATES = {
  done: "Yes: it was fetched.",
  waits: "Yes: it is queued.",
  kept: "Yes: it is queued, for the next run of the crawl.",
  settled: "Yes: the crawl has dealt with it.",
  failed: "It was tried, and could not be fetched.",
  refused: "No: the rules of the crawl or the site's robots.txt refuse it.",
  will_be_refused: "It is queued, and the rules of the crawl will refuse it.",
  would_be_refused: "No: the rules of the crawl or the site's robots.txt refuse it.",
  would_be_queued: "No: the crawl does not know it. You can suggest it.",
  robots: "It is a robots.txt, which is fetched when a page of its site needs it.",
};

export function logInForm(page) {
  if (session.csrf) {
    const rights = session.write ? "" : " Your token only reads.";
    add(page.body, [h("p", {}, `You are logged in${session.name ? ` as ${session.name}` : ""}.${rights} `, link("To the overview", ""))]);
    return;
  }
  const token = h("input", { type: "password", required: true, autocomplete: "current-password", maxlength: "1024", spellcheck: "false" });
  const said = outcome();
  if (page.query.why) report(said, page.query.why, "bad");
  const form = h("form", { class: "narrow" }, field("Token", token, "The dashboard shows its address with the token on the terminal at its start. The token is also in the file dashboard.token in the folder of the crawl."), h("button", {}, "Log in"), said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter;
    button.disabled = true;
    try {
      await logIn(token.value.trim());
      location.hash = `#/${(page.query.to ?? "").replace(/^\/+/, "")}`;
    } catch (error) {
      report(said, error.message, "bad");
      token.focus();
      token.select();
    } finally {
      button.disabled = false;
    }
  });
  add(page.body, [form]);
  token.focus();
}

// -- public mode ------------------------------------------------------------------------------------------------

/** Show the only two forms that everybody may use. */
export function publicForms(page) {
  const url = h("input", { type: "text", required: true, maxlength: "8192", autocomplete: "off", spellcheck: "false", placeholder: "https://example.org/page" });
  const note = h("input", { type: "text", maxlength: "500", autocomplete: "off" });
  const said = outcome();
  const suggested = outcome();
  const ask = h("button", {}, "Ask");
  const suggest = h("button", { type: "button" }, "Suggest this URL");
  const form = h("form", {}, field("URL", url), h("p", {}, ask), said);
  const second = h("section", { "aria-labelledby": "suggest" }, h("h2", { id: "suggest" }, "Suggest it"), h("p", { class: "quiet" }, "An operator decides on each suggestion."), field("A note for the operators, if you like", note), h("p", {}, suggest), suggested);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    ask.disabled = true;
    try {
      const { fate } = await get("/url", { url: url.value.trim() }, page.signal);
      report(said, FATES[fate] ?? `The crawl says: ${String(fate ?? "unknown").replaceAll("_", " ")}.`, /refused|failed/.test(fate) ? "bad" : "good");
    } catch (error) {
      report(said, error.message, "bad");
    } finally {
      ask.disabled = false;
    }
  });
  suggest.addEventListener("click", async () => {
    if (!url.reportValidity()) return;
    suggest.disabled = true;
    try {
      const answer = await change("POST", "/suggestions", { url: url.value.trim(), note: note.value.trim() });
      report(suggested, answer?.sentence ?? "Thank you: the URL is held until an operator decides.");
      note.value = "";
    } catch (error) {
      report(suggested, error.message, "bad");
    } finally {
      suggest.disabled = false;
    }
  });
  add(page.body, [form, offers("POST /suggestions") && second]);
}

// -- suggestions ------------------------------------------------------------------------------------------------

/** Show what visitors suggested, for a decision. */
export async function suggestions(page) {
  const place = h("div");
  const said = outcome();
  add(page.body, [said, place]);
  async function load() {
    try {
      const { rows = [] } = await get("/suggestions", {}, page.signal);
      if (!rows.length) fill(place, empty("Nobody has suggested a URL.", h("p", {}, "A dashboard with ", h("code", {}, "DASHBOARD_PUBLIC=True"), " shows everybody a form for suggestions.")));
      else fill(place, table(columns(decide), rows, "Suggestions"));
    } catch (error) {
      if (!page.signal.aborted) fill(place, problem(error, load));
    }
  }
  async function decide(row, accept, button) {
    button.disabled = true;
    try {
      const answer = await change("POST", `/suggestions/${encodeURIComponent(row.id)}`, { accept });
      report(said, answer?.sentence ?? (accept ? "The URL is handed to the crawl." : "The suggestion is rejected."));
      await load();
    } catch (error) {
      report(said, error.message, "bad");
      button.disabled = false;
    }
  }
  await load();
}

function columns(decide) {
  return [
    { label: "URL", cell: (row) => address(row.url, 120) },
    { label: "note", cell: (row) => h("bdi", {}, cut(row.note || NONE, 300)) },
    { label: "from", cell: (row) => cut(row.by ?? NONE, 60) },
    { label: "time, UTC", time: true, cell: (row) => moment(row.at) },
    { label: "decision", cell: (row) => decision(row, decide) },
  ];
}

function decision(row, decide) {
  if (row.accepted === true) return badge("approved", "good");
  if (row.accepted === false) return badge("rejected");
  if (!offersBelow("POST", "/suggestions/")) return "open";
  if (!session.write) return link("log in to decide", "login", { to: "suggestions" });
  const button = (text, accept) =>
    h("button", { type: "button", on: { click: (event) => decide(row, accept, event.currentTarget) } }, text, h("span", { class: "unseen" }, ` ${cut(row.url, 80)}`));
  return h("span", { class: "buttons" }, button("Approve", true), button("Reject", false));
}
