"""Judges of the identity of the crawler: signatures of requests, and the keys that it publishes, verified by another
implementation of the signatures.
"""

from __future__ import annotations

import html
import json
import re
import stat
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import served
from tests.gauntlet.promises.judges.starts import new_sites, start_crawl
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import until
from tests.signatures import FIELDS, Keys, directory_parameters, verified_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakeweb.answer import Answer, Request
    from tests.gauntlet.promises.stages import Short, Stage, Story
    from tests.gauntlet.promises.table import Promise

AGENT = "https://bot.example.org"
DIRECTORY = ".well-known/http-message-signatures-directory"


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request, when it arrived, and the parameters of its signature; None for one without a valid signature."""

    request: Request
    at: float
    parameters: dict[str, Any] | None


@contextmanager
def recorded(stage: Stage, keys: Keys) -> Iterator[list[SignedRequest]]:
    """Verify each request within the block, robots.txt included."""
    site, answer = stage.site, stage.site.answer
    requests: list[SignedRequest] = []

    def verified(request: Request) -> Answer:
        url = f"{request.scheme}://{request.header('Host')}{request.path}"
        parameters = verified_parameters(request.method, url, request.head, keys)
        requests.append(SignedRequest(request, time.time(), parameters))
        result: Answer = answer(request)
        return result

    site.answer = verified
    try:
        yield requests
    finally:
        del site.answer


def _key(stage: Stage, name: str) -> Path:
    """Return a key file that the command has made."""
    path = stage.folder / name
    path.unlink(missing_ok=True)
    stage.do("identity", "new", path)
    return path


def _settings(key: Path, **more: Any) -> dict[str, Any]:
    return {"POLITENESS_MIN_DELAY": 0.1, "IDENTITY_KEY_FILE": key, "IDENTITY_AGENT": AGENT, **more}


@judge
def tells_of_itself(stage: Short, promise: Promise) -> str:
    """The example of the page keeps the crawler out, and machines find the addresses."""
    page = stage.folder / "about.html"
    settings = {"USER_AGENT": "library-bot/2", "CRAWLER_CONTACT": "you@example.org"}
    stage.do("botpage", "--output", page, "--address", "192.0.2.7,2001:db8::/48", **settings)
    text = page.read_text()
    example = html.unescape(text.partition("<pre>")[2].partition("</pre>")[0])
    name = text.partition('rel="client-ranges" href="')[2].partition('"')[0]
    ranges = json.loads((stage.folder / name).read_text())
    prefixes = {
        value
        for prefix in ranges["prefixes"]
        for key, value in prefix.items()
        if key in ("ipv4Prefix", "ipv6Prefix")
    }
    open_host, closed = new_sites(stage, "open", "closed", pages=3)
    stage.site.robots[closed] = example
    start_crawl(stage, promise, [stage.site.url(host) for host in (open_host, closed)], **settings)
    statuses = stage.statuses()
    pages = {host: len(stage.web.pages(host)) for host in (open_host, closed)}
    return need(
        set(statuses) == {0}
        and pages[open_host] >= 4
        and pages[closed] == 0
        and stage.web.hits(closed)
        and prefixes == {"192.0.2.7/32", "2001:db8::/48"},
        f"exit status {statuses}; pages requested {pages}, with {example!r}; ranges {sorted(prefixes)} in {name}",
    )


@judge
def writes_a_letter(stage: Story, promise: Promise) -> str:
    """The letter has the number and the URLs of the requests of the server's log, and says what is excluded."""
    host = "h0004.test"
    exclusions = stage.folder / "excluded.txt"
    exclusions.write_text(f"{host}  # their letter\n")
    settings = {"EXCLUSION_FILE": exclusions, "CRAWLER_CONTACT": "you@example.org"}
    letter = stage.do("complaint", host, *stage.jobdirs, "--letter", **settings).out
    served = Counter(stage.url(hit) for hit in stage.hits() if hit.host == host)
    listed = Counter(re.findall(r"^ +\d{4}-.*? (http://\S+)$", letter, re.MULTILINE))
    open_letter = stage.do(
        "complaint", host, *stage.jobdirs, "--letter", CRAWLER_CONTACT="you@example.org"
    ).out
    return need(
        listed == served
        and f" it sent {served.total()} requests" in letter
        and f"{host} is on the list of sites that the crawler does not visit" in letter
        and "[" not in letter
        and "[what you changed]" in open_letter,
        f"{listed.total()} requests in the letter; the server's log has {served.total()}; gaps to fill in: "
        f"{letter.count('[')} if {host} is excluded, {open_letter.count('[')} if not",
    )


def _holds(folder: Path, secret: bytes) -> list[str]:
    """Return the files below a folder that have a secret."""
    return [path.name for path in folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


@judge
def signs_each_request(stage: Short, promise: Promise) -> str:
    """With a key each request has a valid signature of its own, by all processes; without one none has any."""
    key = _key(stage, "crawler.key")
    [jwk] = json.loads(key.read_text())["keys"]
    hosts = new_sites(stage, "a", "b", "c", "d", pages=8)
    seeds = [stage.site.url(host) for host in hosts]
    with recorded(stage, Keys.of(key)) as signed:
        start_crawl(stage, promise, seeds, **_settings(key))
        statuses = stage.statuses()
    secret = jwk["d"].encode()
    leaks = [name for folder in stage.jobdirs for name in _holds(folder, secret)]
    leaks += [worker.path.name for worker in stage.workers if jwk["d"] in worker.stderr]
    if stage.redis is not None:
        dumps = (stage.redis.client().dump(name) for name in stage.redis.client().scan_iter())
        leaks += ["Redis" for dump in dumps if dump is not None and secret in dump]
    shown = stage.do("settings", "--get", "IDENTITY_KEY_FILE", IDENTITY_KEY_FILE=key).out
    leaks += ["scrapy settings"] if jwk["d"] in shown else []
    leaks += ["scrapy status"] if jwk["d"] in stage.do("status", stage.target, "--json").out else []
    with recorded(stage, Keys.of(key)) as plain:
        start_crawl(stage, promise, [stage.site.url(new_sites(stage, "plain", pages=3)[0])])
        statuses += stage.statuses()
    valid = [signature for signature in signed if signature.parameters is not None]
    fresh = [
        signature
        for signature in valid
        if signature.parameters and signature.at - 60 <= signature.parameters["created"] <= signature.at
    ]
    nonces = {signature.parameters["nonce"] for signature in valid if signature.parameters}
    robots = sum(signature.request.path == "/robots.txt" for signature in valid)
    unsigned = sum(signature.request.header(name) is not None for signature in plain for name in FIELDS)
    return need(
        set(statuses) == {0}
        and len(signed) == len(fresh) == len(nonces) >= 4 * 9
        and robots == 4
        and len(plain) >= 4
        and not unsigned
        and not leaks,
        f"exit status {statuses}; {len(signed)} requests, {len(valid)} with a valid signature, {len(fresh)} of them "
        f"fresh, {len(nonces)} different ones, {robots} for robots.txt; without a key {unsigned} of {len(plain)}; "
        f"the private key is in {leaks or 'nothing'}",
    )


@judge
def refuses_a_bad_key(stage: Short, promise: Promise) -> str:
    """A key that others can read, none, or one without an origin: status 2, and no request."""
    key = _key(stage, "open.key")
    [host] = new_sites(stage, "refused", pages=3)
    cases = {
        "open": _settings(key),
        "missing": _settings(stage.folder / "nothing"),
        "no origin": {**_settings(_key(stage, "closed.key")), "IDENTITY_AGENT": ""},
        "no https": {**_settings(_key(stage, "closed.key")), "IDENTITY_AGENT": "http://bot.example.org"},
        "no key": {"IDENTITY_AGENT": AGENT},
    }
    key.chmod(0o644)
    statuses = {}
    for name, settings in cases.items():
        start_crawl(stage, promise, [stage.site.url(host)], **settings)
        statuses[name] = set(stage.statuses())
    hits = len(stage.web.hits(host))
    right = all(counts == {2} for counts in statuses.values())
    return need(right and not hits, f"exit statuses {statuses}; {hits} requests")


@judge
def signs_as_set(stage: Short, promise: Promise) -> str:
    """The parameters of valid signatures are those of the setting."""
    key = _key(stage, "crawler.key")
    hosts = new_sites(stage, "a", pages=3)
    with recorded(stage, Keys.of(key)) as signed:
        start_crawl(
            stage,
            promise,
            [stage.site.url(hosts[0])],
            **_settings(key, **{promise.name: promise.given["value"]}),
        )
        statuses = stage.statuses()
    parameters = [signature.parameters for signature in signed if signature.parameters is not None]
    agents = {
        str(
            parameter["expires"] - parameter["created"]
            if promise.given["seconds"]
            else parameter["covered"][:-2]
        )
        for parameter in parameters
    }
    return need(
        set(statuses) == {0}
        and len(parameters) == len(signed) >= 4
        and agents == {promise.given["expected"]},
        f"exit status {statuses}; {len(parameters)} of {len(signed)} requests have a valid signature: {agents}",
    )


@judge
def makes_a_key(stage: Stage, promise: Promise) -> str:
    """A file that its owner alone can read, which is not replaced; its public part is shown, the other is not."""
    path = stage.folder / "made.key"
    path.unlink(missing_ok=True)
    created, listed = stage.do("identity", "new", path), stage.do("identity", "list", path)
    mode = stat.S_IMODE(path.stat().st_mode)
    content = path.read_bytes()
    [jwk] = json.loads(content)["keys"]
    again = stage.run("identity", "new", path)
    shown = [jwk["kid"] in done.out for done in (created, listed)]
    hidden = [jwk["d"] not in done.out + done.err for done in (created, listed, again)]
    return need(
        mode == 0o600 and all(shown) and all(hidden) and again.status == 2 and path.read_bytes() == content,
        f"mode {mode:o}, shown {shown}, secret kept {hidden}; a second time: status {again.status}",
    )


@judge
def rotates_without_a_gap(stage: Short, promise: Promise) -> str:
    """A crawl signs with the old key until the time of the new one, and with that from then on; the directory has
    both."""
    for seconds in (12, 30, 75):
        key = _key(stage, "rotated.key")
        begins_at = int(time.time()) + seconds
        moment = datetime.fromtimestamp(begins_at, UTC).isoformat()
        stage.do("identity", "rotate", key, "--from", moment)
        keys = Keys.of(key)
        old, new = (jwk["kid"] for jwk in json.loads(key.read_text())["keys"])
        [host] = new_sites(stage, "rotated", pages=1000)
        with recorded(stage, keys) as signed:
            start_crawl(stage, promise, [stage.site.url(host)], **_settings(key))
            later = until(lambda: sum(signature.at > begins_at + 1 for signature in signed) > 3)  # noqa: B023
            stage.kill()
        created = [
            (signature.parameters["created"], signature.parameters["keyid"])
            if signature.parameters
            else (signature.at, "")
            for signature in signed
        ]
        wrong = [keyid for at, keyid in created if keyid != (old if at < begins_at else new)]
        before = sum(keyid == old for _, keyid in created)
        if before or wrong or not later:
            break
    site = stage.folder / "rotated"
    stage.do("identity", "write", site, IDENTITY_KEY_FILE=key, IDENTITY_AGENT=AGENT)
    published = [jwk["kid"] for jwk in json.loads((site / DIRECTORY).read_bytes())["keys"]]
    return need(
        later and before and not wrong and published == [old, new],
        f"{before} requests with the old key, {len(created) - before} with the new one, {len(wrong)} with neither or "
        f"at the wrong time; {len(published)} keys in the directory",
    )


@judge
def removes_a_key_at_once(stage: Short, promise: Promise) -> str:
    """A crawl that runs signs with the new key soon, and the old one is no longer published."""
    key = _key(stage, "lost.key")
    [old] = (jwk["kid"] for jwk in json.loads(key.read_text())["keys"])
    before = Keys.of(key)
    [host] = new_sites(stage, "lost", pages=1000)
    with recorded(stage, before) as signed:
        start_crawl(stage, promise, [stage.site.url(host)], **_settings(key))
        began = until(lambda: sum(signature.parameters is not None for signature in signed) > 3)
        stage.do("identity", "rotate", key, "--at-once")
        [new] = (jwk["kid"] for jwk in json.loads(key.read_text())["keys"])
        rotated_at = time.time()
        changed = until(
            lambda: any(f'keyid="{new}"'.encode() in signature.request.head for signature in signed), 60.0
        )
        seconds = time.time() - rotated_at
        stage.kill()
    site = stage.folder / "lost"
    stage.do("identity", "write", site, IDENTITY_KEY_FILE=key, IDENTITY_AGENT=AGENT)
    published = [jwk["kid"] for jwk in json.loads((site / DIRECTORY).read_bytes())["keys"]]
    return need(
        began and changed and published == [new] != [old],
        f"the new key signed after {seconds:.0f} s; the directory has "
        f"{'it alone' if published == [new] else published}",
    )


@judge
def tells_names_of_addresses(stage: Short, promise: Promise) -> str:
    """An address whose name leads back to it is on the page with its name; another one is named as wrong."""
    page = stage.folder / "names.html"
    settings = {"CRAWLER_CONTACT": "you@example.org", "DNS_NAMESERVERS": stage.web.nameserver}
    addresses = "127.0.0.1,127.0.0.2,127.0.0.3"
    done = stage.do("botpage", "--output", page, "--address", addresses, "--reverse-dns", **settings)
    text = page.read_text()
    wrong = [address for address in addresses.split(",") if f"scrapy botpage: {address} has " in done.err]
    return need(
        "<dt>127.0.0.1</dt><dd><code>crawler.test</code></dd>" in text
        and "forged.test" not in text
        and wrong == ["127.0.0.2", "127.0.0.3"],
        f"crawler.test {'is' if 'crawler.test' in text else 'is not'} on the page; wrong: {wrong}",
    )


@judge
def says_what_data_are_for(stage: Short, promise: Promise) -> str:
    """The words are on the page, and in the card."""
    use, key = "The town's archive <is> searched.", _key(stage, "card.key")
    settings = {"CRAWLER_CONTACT": "you@example.org", promise.name: use}
    page = stage.do("botpage", **settings).out
    site = stage.folder / "card"
    stage.do("identity", "write", site, IDENTITY_KEY_FILE=key, IDENTITY_AGENT=AGENT, **settings)
    card = json.loads((site / "signature-agent-card.json").read_text())
    purpose = card["web_bot_auth"]["purpose"]
    return need(
        f"<p>{html.escape(use)}</p>" in page and purpose == use,
        f"the page {'has' if html.escape(use) in page else 'lacks'} them; the card has {purpose!r}",
    )


@judge
def publishes_its_keys(stage: Stage, promise: Promise) -> str:
    """What was written is right where it is served; another key, another content and another host are found."""
    key = _key(stage, "published.key")
    site = stage.folder / "published"
    site.mkdir(exist_ok=True)
    statuses = {}
    with served.trusted_site(site, stage.folder / "published.pem") as origin:
        settings: dict[str, Any] = {"IDENTITY_KEY_FILE": key, "IDENTITY_AGENT": origin}
        settings["CRAWLER_CONTACT"] = "you@example.org"
        stage.do("identity", "write", site, **settings)
        statuses["served"] = stage.run("identity", "check", **settings).status
        body = (site / DIRECTORY).read_bytes()
        lines = (site / "_headers").read_text().split("/signature-agent-card")[0].splitlines()
        headers = dict(line.strip().split(": ", 1) for line in lines if line.startswith(" "))
        proof = directory_parameters(f"{origin}/{DIRECTORY}", headers, body, Keys(json.loads(body)["keys"]))
        (site / DIRECTORY).write_bytes(body + b" ")
        statuses["changed"] = stage.run("identity", "check", **settings).status
        stage.do("identity", "write", site, **{**settings, "IDENTITY_AGENT": AGENT})
        statuses["of another host"] = stage.run("identity", "check", **settings).status
        stage.do("identity", "write", site, **settings)
        stage.do("identity", "rotate", key)
        statuses["without a key"] = stage.run("identity", "check", **settings).status
    statuses["not served"] = stage.run("identity", "check", **settings).status
    secret = json.loads(key.read_text())["keys"][0]["d"].encode()
    return need(
        statuses.pop("served") == 0
        and set(statuses.values()) == {1}
        and proof is not None
        and not _holds(site, secret),
        f"served: 0, proof {'valid' if proof else 'not valid'}; {statuses}",
    )
