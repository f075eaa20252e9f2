/* The page: its views by address, the head with state and commands, and the session of the browser. */

import * as access from "./access.js";
import { change, logIn, logOut, offers, onSession, readEndpoints, readSession, session } from "./api.js";
import { add, announce, badge, confirmed, fill, h, link, problem, route, setText } from "./dom.js";
import { clock } from "./format.js";
import * as hosts from "./hosts.js";
import * as lists from "./lists.js";
import * as overview from "./overview.js";
import * as pages from "./pages.js";
import * as settings from "./settings.js";
import { stream } from "./stream.js";
import * as urls from "./urls.js";

/** The views by the first word of their address. Those with `menu` are in the menu if there is the endpoint. */
const VIEWS = {
  "": { title: "Overview", menu: true, show: overview.show },
  hosts: { title: "Hosts", menu: true, needs: "GET /hosts", show: hosts.list },
  host: { title: "Host", show: hosts.one },
  url: { title: "URL", menu: true, needs: "GET /url", show: urls.show },
  add: { title: "Add URLs", menu: true, needs: "POST /urls", show: urls.inject },
  errors: { title: "Errors", menu: true, needs: "GET /errors", has: "errors", show: lists.errors },
  fetches: { title: "Fetches", menu: true, needs: "GET /fetches", show: lists.fetches },
  traps: { title: "Traps", menu: true, needs: "GET /traps", has: "traps", show: lists.traps },
  parked: { title: "Parked hosts", menu: true, needs: "GET /parked", has: "parked", show: lists.parked },
  log: { title: "Log", menu: true, needs: "GET /log", show: lists.log },
  pages: { title: "Stored pages", menu: true, needs: "GET /pages", has: "pages", show: pages.show },
  search: { title: "Search", menu: true, needs: "GET /search", has: "search", show: pages.search },
  settings: { title: "Settings", menu: true, needs: "GET /changes", show: settings.show },
  suggestions: { title: "Suggestions", menu: true, needs: "GET /suggestions", has: "suggestions", show: access.suggestions },
  login: { title: "Log in", show: access.logInForm },
};
const PUBLIC = { "": { title: "Is a URL in the crawl?", show: access.publicForms } };

const STATES = {
  running: "good",
  paused: "warn",
  stopping: "warn",
  ended: "plain",
  killed: "bad",
  "not running": "plain",
};

const main = document.getElementById("main");
const nav = document.getElementById("views");
const menu = document.getElementById("menu");
let left = new AbortController();
let shown = null;
let entering = null;

/** What a view gets: where to put its content, and what ends when it is left. */
class Page {
  constructor(name, query, signal) {
    this.name = name;
    this.query = query;
    this.signal = signal;
    this.body = h("div", { class: "view" });
  }

  /** Call a function with each state of the crawl while the view is shown. */
  listen(listener) {
    this.leaving(stream.listen(listener));
  }

  /** Call a function every so many seconds while the view is shown. */
  every(seconds, run) {
    const timer = setInterval(run, seconds * 1000);
    this.leaving(() => clearInterval(timer));
  }

  leaving(run) {
    this.signal.addEventListener("abort", run, { once: true });
  }

  /** Write the state of the view into the address. `step`: the browser's back button returns to what was before. */
  address(query, step = true) {
    const now = route(this.name, query);
    if (now === location.hash) return;
    history[step ? "pushState" : "replaceState"](null, "", now);
    shown = location.hash;
  }

  title(text) {
    setText(document.getElementById("title"), text);
    document.title = `${text} · ${stream.state?.name ?? "webcrawl"}`;
  }
}

function asked() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return [path, Object.fromEntries(new URLSearchParams(query))];
}

async function show(focus = true) {
  if (location.hash === "#main") {
    main.focus();
    return;
  }
  // A browser tells twice of a new address: until the session has begun, no view could read anything.
  if (location.hash.startsWith("#token=")) entering = useToken();
  await entering;
  if (location.hash === shown && focus) return;
  shown = location.hash;
  left.abort();
  left = new AbortController();
  // A question about what is no longer shown must not be answered.
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close("no");
  const [name, query] = asked();
  const views = session.public ? PUBLIC : VIEWS;
  const view = views[name];
  const page = new Page(name, query, left.signal);
  const heading = h("h1", { id: "title", tabindex: "-1" }, view?.title ?? "No such view");
  fill(main, heading, page.body);
  closeMenu();
  for (const one of nav.querySelectorAll("a")) {
    if (one.dataset.view === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  page.title(heading.textContent);
  scrollTo(0, 0);
  if (focus) heading.focus({ preventScroll: true });
  if (!view) {
    add(page.body, [h("p", {}, "This address has no view. ", link("To the overview", ""))]);
    return;
  }
  try {
    await view.show(page);
  } catch (error) {
    if (!page.signal.aborted) add(page.body, [problem(error, () => again())]);
  }
}

/** Show the view once more. */
function again() {
  shown = null;
  return show(false);
}

/** Log in with the token of an address that the dashboard printed, and take it out of the address. */
async function useToken() {
  const token = decodeURIComponent(location.hash.slice("#token=".length));
  history.replaceState(null, "", "#/");
  try {
    await logIn(token);
  } catch (error) {
    announce(error.message);
    if (!session.public) history.replaceState(null, "", route("login", { why: error.message }));
  }
}

// -- the head ---------------------------------------------------------------------------------------------------

let lastState = null;

function showState(state) {
  setText(document.getElementById("name"), state.name);
  if (state.state !== lastState) {
    fill(document.getElementById("state"), badge(state.state, STATES[state.state]));
    if (lastState !== null) announce(`The crawl is ${state.state}.`);
    lastState = state.state;
    drawCommands();
  }
  const about = `webcrawl ${state.version}`;
  setText(document.getElementById("about"), about);
  const now = JSON.stringify(state.has ?? {});
  if (now !== lastHas) {
    lastHas = now;
    drawMenu();
  }
}

let lastHas = null;

/** Return whether there is something to see in a view; without a state it may be. The view that is shown stays. */
function hasData(name, view) {
  const { has } = stream.state ?? {};
  return !view.has || !has || has[view.has] !== false || asked()[0] === name;
}

const COMMANDS = {
  pause: { label: "Pause", said: "The crawl pauses: requests that have begun are finished." },
  resume: { label: "Resume", said: "The crawl goes on." },
  save: { label: "Save", said: "The crawl writes everything to the disk." },
  stop: { label: "Stop", said: "The crawl stops: requests that have begun are finished." },
};

function drawCommands() {
  const place = document.getElementById("commands");
  const running = lastState === "running" || lastState === "paused";
  if (session.public || !running || !offers("POST /commands")) return fill(place);
  if (!session.write) return fill(place, session.csrf ? null : h("a", { class: "button", href: route("login", { to: location.hash.slice(2) }) }, "Log in"));
  const names = [lastState === "paused" ? "resume" : "pause", "save", "stop"];
  return fill(
    place,
    names.map((name) =>
      h(
        "button",
        { type: "button", class: name === "stop" ? "danger" : null, on: { click: (event) => command(name, event.currentTarget) } },
        COMMANDS[name].label,
      ),
    ),
  );
}

async function command(name, button) {
  if (name === "stop") {
    const sentence = "Requests that have begun are finished, and nothing that is queued is lost: the same command starts it again.";
    if (!(await confirmed("Stop the crawl?", sentence, "Stop the crawl"))) return;
  }
  button.disabled = true;
  try {
    const answer = await change("POST", "/commands", { command: name });
    tell(answer?.sentence || COMMANDS[name].said, "good");
  } catch (error) {
    tell(error.message, "bad");
  } finally {
    button.disabled = false;
  }
}

let told = null;

/** Show a sentence below the head for some seconds. */
function tell(sentence, kind) {
  announce(sentence);
  told?.remove();
  told = h("p", { class: `told outcome ${kind}` }, sentence, " ", h("button", { type: "button", class: "copy", on: { click: () => told.remove() } }, "Close"));
  document.querySelector("header.top").after(told);
  const mine = told;
  if (kind === "good") setTimeout(() => mine.remove(), 8000);
}

function showConnection({ connection, why, at }) {
  const place = document.getElementById("connection");
  const of = at ? `The figures are of ${clock(at / 1000)} UTC. ` : "";
  document.body.classList.toggle("lost", connection === "lost" || connection === "away");
  if (connection === "lost") setText(place, `Connection lost. ${of}The page tries to connect again…`);
  else if (connection === "away") setText(place, `The crawl cannot be read: ${why}. ${of}`);
  else if (!place.hidden && connection === "live") announce("The connection is back.");
  place.hidden = connection === "live" || connection === "connecting";
}

// -- the menu ---------------------------------------------------------------------------------------------------

function drawMenu() {
  if (session.public) {
    nav.hidden = menu.hidden = true;
    return;
  }
  const entries = Object.entries(VIEWS).filter(
    ([name, view]) => view.menu && (!view.needs || offers(view.needs)) && hasData(name, view),
  );
  const [current] = asked();
  fill(
    nav,
    h(
      "ul",
      {},
      entries.map(([name, view]) =>
        h("li", {}, h("a", { href: route(name), "data-view": name, "aria-current": name === current ? "page" : null }, view.title)),
      ),
      h(
        "li",
        { class: "session" },
        session.csrf
          ? h("button", { type: "button", class: "plain", on: { click: leave } }, session.name ? `Log out ${session.name}` : "Log out")
          : h("a", { href: route("login"), "data-view": "login" }, "Log in"),
      ),
    ),
  );
}

async function leave() {
  try {
    await logOut();
    tell("You are logged out.", "good");
  } catch (error) {
    tell(error.message, "bad");
  }
}

function closeMenu() {
  nav.classList.remove("open");
  menu.setAttribute("aria-expanded", "false");
}

menu.addEventListener("click", () => {
  const open = nav.classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && nav.classList.contains("open")) {
    closeMenu();
    menu.focus();
  }
});

// -- the beginning ----------------------------------------------------------------------------------------------

let isReader = null;

/** In a service, a crawl's page leads back to the list of crawls. */
function drawWayBack() {
  const place = document.getElementById("back");
  if (/\/crawls\/[^/]+\/$/.test(location.pathname)) fill(place, h("a", { href: "../../" }, "All crawls"), " / ");
}

function begin() {
  drawWayBack();
  drawMenu();
  drawCommands();
  const reads = session.read && !session.public;
  if (reads && reads !== isReader) stream.open();
  else if (!reads) stream.close();
  isReader = reads;
}

async function start() {
  if (location.hash.startsWith("#token=")) await useToken();
  try {
    await Promise.all([readSession(), readEndpoints()]);
    onSession(begin);
    begin();
  } catch (error) {
    fill(main, h("h1", {}, "webcrawl"), problem(error, () => location.reload()));
    return;
  }
  stream.listen(showState);
  stream.watch(showConnection);
  if (!session.read && !session.public && !location.hash.startsWith("#/login"))
    history.replaceState(null, "", route("login", { to: location.hash.slice(2) }));
  addEventListener("hashchange", () => show());
  addEventListener("popstate", () => show());
  await show(false);
}

start();
