/* Settings that can be changed while the crawl runs, excluded hosts, and the journal of changes. */

import { change, get, offers, offersBelow, session } from "./api.js";
import { add, announce, badge, cut, empty, field, fill, h, link, outcome, problem, report, section, table } from "./dom.js";
import { count, moment, NONE } from "./format.js";

export async function show(page) {
  const rows = h("div");
  const exclusions = h("div");
  const journal = h("div");
  if (!session.write) add(page.body, [h("p", { class: "quiet" }, link("Log in", "login", { to: "settings" }), " to change settings.")]);
  add(page.body, [
    offers("GET /settings") && section("Live settings", h("p", { class: "quiet" }, "A change holds in all workers within seconds, and after a restart until it is reset."), rows),
    offersBelow("POST", "/exclusions") && section("Excluded hosts", exclusions),
    section("Changes", journal),
  ]);

  async function loadSettings(said = null) {
    if (!offers("GET /settings")) return;
    try {
      const answer = await get("/settings", {}, page.signal);
      const found = answer.rows ?? [];
      const groups = [...new Set(found.map((one) => one.group ?? ""))];
      fill(
        rows,
        groups.map((group) => [
          group ? h("h3", {}, group.charAt(0).toUpperCase() + group.slice(1)) : null,
          found.filter((one) => (one.group ?? "") === group).map((one) => row(one, one.name === said?.name ? said : null, changed)),
        ]),
      );
      if (said) document.getElementById(`setting-${said.name}`)?.querySelector("input, select, textarea")?.focus();
    } catch (error) {
      if (!page.signal.aborted) fill(rows, problem(error, () => loadSettings()));
    }
  }

  async function loadExclusions() {
    if (!offers("GET /exclusions")) {
      fill(exclusions, session.write && offers("POST /exclusions") && excludeForm(loaded));
      return;
    }
    try {
      const { rows: found = [] } = await get("/exclusions", {}, page.signal);
      fill(exclusions, session.write && excludeForm(loaded), found.length ? excluded(found, loaded) : empty("No host was excluded while the crawl ran."));
    } catch (error) {
      if (page.signal.aborted) return;
      fill(exclusions, problem(error, loadExclusions));
    }
  }

  async function loadJournal() {
    try {
      const answer = await get("/changes", {}, page.signal);
      const found = answer.rows ?? [];
      fill(journal, found.length ? changes(found) : empty("Nothing was changed yet.", h("p", {}, "Each change by a form, a command or the API is noted here, with who made it and when.")));
    } catch (error) {
      if (!page.signal.aborted) fill(journal, problem(error, loadJournal));
    }
  }

  async function changed(said) {
    await Promise.all([loadSettings(said), loadJournal()]);
    announce(said.sentence);
  }

  async function loaded() {
    await Promise.all([loadExclusions(), loadJournal()]);
  }

  await Promise.all([loadSettings(), loadExclusions(), loadJournal()]);
}

function text(value) {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Return the form of one setting. `said`: the result of the last change. */
function row(setting, said, changed) {
  const { name, value, started_with: begun, overlay, unit, meaning, type, allowed } = setting;
  const id = `setting-${name}`;
  const result = outcome();
  if (said) report(result, said.sentence);
  const input = control(type, text(value), setting.choices);
  // A file is read on the machine of the crawl, and not for everybody who has the token.
  const changes = session.write && !setting.by_command_only;
  input.disabled = !changes;
  const hint = [meaning, setting.choices || type === "boolean" || !allowed ? "" : `Allowed: ${allowed}.`, setting.by_command_only ? `Set by: scrapy set ${name}=FILE` : ""];
  const act = async (button, method, body, sentence) => {
    button.disabled = true;
    try {
      const answer = await change(method, `/settings/${encodeURIComponent(name)}`, body);
      await changed({ name, sentence: answer?.sentence ?? sentence });
    } catch (error) {
      report(result, error.message, "bad");
      input.focus();
    } finally {
      button.disabled = false;
    }
  };
  const submit = (event) => {
    event.preventDefault();
    act(event.submitter ?? input, "PUT", { value: input.value }, `${name} is ${input.value || "empty"} now.`);
  };
  const by = overlay && [
    badge("changed", "warn"),
    ` by ${cut(overlay.by ?? "somebody", 100)}, ${moment(overlay.at)} UTC`,
    begun === null || begun === undefined ? "" : `; started with ${text(begun) || "nothing"}`,
  ];
  return h(
    "form",
    { class: "setting", id, on: { submit } },
    field(h("span", {}, h("code", {}, name), unit ? ` ${unit}` : ""), input, hint.filter(Boolean).join(" ")),
    changes && h("button", {}, "Set", h("span", { class: "unseen" }, ` ${name}`)),
    changes && overlay && h("button", { type: "button", on: { click: (event) => act(event.currentTarget, "DELETE", {}, `${name} is reset.`) } }, "Reset", h("span", { class: "unseen" }, ` ${name}`)),
    h("p", { class: "quiet" }, by),
    Object.entries(setting.refused ?? {}).map(([worker, why]) => h("p", { class: "outcome bad" }, `${cut(worker, 80)} does not apply it: ${cut(why, 300)}`)),
    result,
  );
}

function control(type, value, choices) {
  const options = Array.isArray(choices) ? choices.map(String) : type === "boolean" || type === "bool" ? ["True", "False"] : null;
  if (options) {
    const chosen = options.find((one) => one.toLowerCase() === value.toLowerCase());
    return h("select", {}, (chosen === undefined ? [value, ...options] : options).map((one) => h("option", { value: one, selected: one === (chosen ?? value) }, one)));
  }
  const numeric = ["number", "integer", "int", "float"].includes(type);
  return h("input", { value, inputmode: numeric ? "decimal" : null, autocomplete: "off", spellcheck: "false", maxlength: "10000" });
}

// -- excluded hosts ---------------------------------------------------------------------------------------------

function excludeForm(loaded) {
  const input = h("input", { required: true, maxlength: "2000", autocomplete: "off", spellcheck: "false", placeholder: "example.org" });
  const reason = h("input", { maxlength: "500", autocomplete: "off" });
  const said = outcome();
  const submit = async (event) => {
    event.preventDefault();
    const entry = input.value.trim();
    const button = event.submitter;
    button.disabled = true;
    try {
      const answer = await change("POST", "/exclusions", { entry, reason: reason.value.trim() });
      await loaded();
      announce(answer?.sentence ?? `${entry} is excluded.`);
    } catch (error) {
      report(said, error.message, "bad");
    } finally {
      button.disabled = false;
    }
  };
  return h(
    "form",
    { class: "tools", on: { submit } },
    field("Exclude a host or the beginning of a URL", input, "A name stands for the host and those below it. Nothing of it is fetched any more; what is queued stays queued."),
    field("Reason, for the journal", reason),
    h("button", {}, "Exclude"),
    said,
  );
}

function excluded(rows, loaded) {
  const columns = [
    { label: "entry", cell: (one) => h("bdi", {}, cut(one.entry, 120)) },
    rows.some((one) => one.reason) && { label: "reason", cell: (one) => h("bdi", {}, cut(one.reason || NONE, 200)) },
    { label: "by", cell: (one) => cut(one.by ?? NONE, 80) },
    { label: "time, UTC", time: true, cell: (one) => moment(one.at) },
    session.write && { label: "action", cell: (one) => readmitButton(one.entry, loaded) },
  ].filter(Boolean);
  return table(columns, rows, "Excluded hosts");
}

function readmitButton(entry, loaded) {
  const click = async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      await change("DELETE", "/exclusions", { entry });
      await loaded();
      announce(`${entry} is no longer excluded.`);
    } catch (error) {
      announce(error.message);
      button.after(h("span", { class: "outcome bad" }, error.message));
      button.disabled = false;
    }
  };
  return h("button", { type: "button", on: { click } }, "Readmit", h("span", { class: "unseen" }, ` ${cut(entry, 80)}`));
}

function changes(rows) {
  const columns = [
    { label: "time, UTC", time: true, cell: (one) => moment(one.at) },
    { label: "who", cell: (one) => cut(one.by ?? one.who ?? NONE, 80) },
    { label: "what", cell: (one) => [one.what ?? "", one.name ? [" ", h("bdi", {}, cut(one.name, 120))] : ""] },
    { label: "old", cell: (one) => cut(one.old ?? NONE, 80) || '""' },
    { label: "new", cell: (one) => cut(one.new ?? NONE, 80) || '""' },
  ];
  return h("div", {}, table(columns, rows, "Changes"), h("p", { class: "quiet" }, `The last ${count(rows.length)}.`));
}
