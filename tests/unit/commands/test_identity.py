"""``scrapy identity``: keys from their first day to their last, and what a web server serves of them."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import served
from tests.signatures import Keys, directory_parameters
from webcrawl.features.identity import keys, reverse_dns
from webcrawl.features.identity.reverse_dns import ReverseName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.commands import Command

DAY = 86_400.0
DIRECTORY = "/.well-known/http-message-signatures-directory"


@pytest.fixture
def identity(command: Callable[..., Command]) -> Command:
    return command("identity")


def test_a_key_is_made_and_shown_without_its_private_part(identity: Command) -> None:
    created = identity("new", "key")
    path = Path("key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    [jwk] = json.loads(path.read_text())["keys"]
    listed = identity("list", IDENTITY_KEY_FILE="key")
    for done in (created, listed):
        assert (done.status, done.err) == (0, "")
        assert jwk["kid"] in done.out
        assert jwk["d"] not in done.out
    assert "Keep key secret. Publish the public keys now: scrapy identity write FOLDER" in created.out
    again = identity("new", "key")
    assert again.status == 2
    assert "key exists, and is not replaced" in again.err
    assert json.loads(path.read_text())["keys"] == [jwk]


def listed(identity: Command) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = identity("list", "key", "--json").told["keys"]
    return found


def test_a_rotation_leaves_no_gap(identity: Command) -> None:
    identity("new", "key")
    [old] = listed(identity)
    before = time.time()
    identity("rotate", "key")
    first, second = listed(identity)
    assert first["thumbprint"] == old["thumbprint"]
    assert (first["state"], second["state"]) == ("signs", "to come")
    assert before + 2 * DAY - 1 <= second["begins_at"] <= time.time() + 2 * DAY
    assert first["ends_at"] - second["begins_at"] == pytest.approx(DAY, abs=1.0)
    ring = keys.load_file(Path("key"))
    for at in (before, second["begins_at"] - 1, second["begins_at"], first["ends_at"], before + 999 * DAY):
        assert ring.signing(at) is not None


def test_the_times_of_a_rotation_are_those_that_were_given(identity: Command) -> None:
    identity("new", "key")
    assert identity("rotate", "key", "--from", "2100-01-01", "--until", "2100-02-01T12:00").status == 0
    first, second = listed(identity)
    assert (second["begins_at"], first["ends_at"]) == (4102444800.0, 4105166400.0)
    wrong = identity("rotate", "key", "--from", "2100-03-01", "--until", "2100-02-01")
    assert wrong.status == 2
    assert "--until must not be before --from: between them no key would sign" in wrong.err


def test_a_key_that_others_know_is_removed_at_once(identity: Command) -> None:
    identity("new", "key")
    [old] = listed(identity)
    assert identity("rotate", "key", "--at-once").status == 0
    [new] = listed(identity)
    assert new["thumbprint"] != old["thumbprint"]
    assert (new["state"], new["ends_at"]) == ("signs", None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no command; give new, list, rotate, write or check"),
        (("give",), "give: is no command; give new, list, rotate, write or check"),
        (("new",), "new: no key file; give one, or set IDENTITY_KEY_FILE"),
        (("write",), "write: no folder; give that of the web server"),
        (("write", "site"), "there is no key; set IDENTITY_KEY_FILE and IDENTITY_AGENT"),
        (("check",), "no origin; give one such as https://bot.your.site, or set IDENTITY_AGENT"),
        (("check", "http://a.test"), "http://a.test: must be an origin such as https://bot.your.site"),
        (("list", "nothing"), "nothing cannot be read: No such file or directory"),
        (("rotate", "nothing"), "nothing cannot be read: No such file or directory"),
        (("new", "no/folder/key"), "No such file or directory"),
        (("new", "key", "--at-once"), "--at-once: is for rotate"),
        (("list", "key", "--days", "3"), "--days: is for write"),
        (("rotate", "key", "--at-once", "--from", "2100-01-01"), "--at-once: leaves no time"),
        (("list", "key", "more"), "more: is one argument too many"),
    ],
)
def test_what_is_wrong_is_named(identity: Command, words: tuple[str, ...], message: str) -> None:
    done = identity(*words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


# -- what is published ---------------------------------------------------------------------------------------------


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    """An origin with TLS that serves the folder ``site``."""
    folder = tmp_path / "site"
    folder.mkdir()
    with served.trusted_site(folder, tmp_path / "ca.pem") as origin:
        yield origin


@pytest.fixture
def published(identity: Command, origin: str, tmp_path: Path) -> Callable[..., Any]:
    """Writes the files, and returns what ``check`` prints as JSON: ``published(files=False)`` checks alone."""
    key = tmp_path / "identity.key"
    keys.write_file(key, keys.KeyRing([keys.new_key()]))

    def check(files: bool = True, **more: object) -> Any:
        settings = {
            "IDENTITY_KEY_FILE": key,
            "IDENTITY_AGENT": origin,
            "CRAWLER_CONTACT": "bot@example.org",
            **more,
        }
        if files:
            assert identity("write", str(tmp_path / "site"), **settings).status == 0
        done = identity("check", "--json", **settings)
        assert done.err == ""
        report = json.loads(done.out)
        assert done.status == (0 if report["right"] else 1)
        return report

    return check


def wrong(told: Any) -> list[str]:
    return [line["finding"] for line in told["findings"] if not line["right"]]


def test_what_was_written_is_right_when_it_is_served(
    published: Callable[..., Any], origin: str, tmp_path: Path
) -> None:
    report = published()
    assert (report["right"], wrong(report), report["names"]) == (True, [], [])
    [key] = keys.load_file(tmp_path / "identity.key").keys
    findings = [one["finding"] for one in report["findings"]]
    assert findings[0] == "status 200, application/http-message-signatures-directory+json"
    assert findings[1].startswith(f"key {key.thumbprint}, which signs now: its proof is valid until 2")
    assert findings[2:] == ["status 200, application/json", "the card names its URL and the keys"]
    # Another implementation agrees.
    body = (tmp_path / f"site{DIRECTORY}").read_bytes()
    lines = (tmp_path / "site/_headers").read_text().split("/signature-agent-card")[0].splitlines()
    headers = dict(line.strip().split(": ", 1) for line in lines if line.startswith(" "))
    public = Keys(json.loads(body)["keys"])
    assert directory_parameters(f"{origin}{DIRECTORY}", headers, body, public) is not None


def test_a_key_that_is_not_published_is_told(
    published: Callable[..., Any], identity: Command, tmp_path: Path
) -> None:
    published()
    identity("rotate", str(tmp_path / "identity.key"))
    report = published(files=False)
    assert [line.endswith("is not there; scrapy identity write") for line in wrong(report)] == [True]
    assert published()["right"]


def test_another_content_or_an_old_proof_is_told(published: Callable[..., Any], tmp_path: Path) -> None:
    published()
    directory = tmp_path / f"site{DIRECTORY}"
    directory.write_bytes(directory.read_bytes() + b"\n")
    [finding] = wrong(published(files=False))
    assert finding.endswith("has a signature for another content: Content-Digest is not that of the body")
    headers = tmp_path / "site/_headers"
    headers.write_text(headers.read_text().replace("+json", ""))
    assert any("Content-Type application/http-message-sig" in line for line in wrong(published(files=False)))


def test_files_of_another_origin_are_told(
    published: Callable[..., Any], identity: Command, origin: str, tmp_path: Path
) -> None:
    settings = {"IDENTITY_KEY_FILE": tmp_path / "identity.key", "CRAWLER_CONTACT": "bot@example.org"}
    identity("write", str(tmp_path / "site"), IDENTITY_AGENT="https://elsewhere.example", **settings)
    findings = wrong(published(files=False))
    assert findings[0].endswith(f"or for another host than {origin.removeprefix('https://')}")
    assert findings[1].startswith("the card has the client_id 'https://elsewhere.example/")


def test_what_is_not_there_is_told(published: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "site/_headers").write_text("")
    assert wrong(published(files=False)) == ["status 404, not 200"] * 2
    refused = published(files=False, IDENTITY_AGENT="https://127.0.0.1:1")
    assert all(finding.startswith("cannot be fetched: ") for finding in wrong(refused))


def test_of_another_crawler_the_directory_is_checked_by_itself(
    published: Callable[..., Any], identity: Command, origin: str
) -> None:
    published()
    done = identity("check", origin)
    assert done.status == 0
    assert done.out.startswith(f"{origin}{DIRECTORY}\n  ok     status 200, ")
    assert "which signs now" not in done.out


def test_addresses_and_the_page_about_the_crawler_are_checked(
    published: Callable[..., Any],
    identity: Command,
    origin: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def look_up(networks: Sequence[str], nameservers: object) -> list[ReverseName]:
        return [ReverseName(address, "", "has no name") for address in networks]

    monkeypatch.setattr(reverse_dns, "look_up", look_up)
    page = tmp_path / "site/about.html"
    settings = {"CRAWLER_CONTACT": f"{origin}/about.html", "BOTPAGE_CONTACT": "bot@example.org"}
    page.write_text("<p>About")
    report = published(BOTPAGE_ADDRESSES="192.0.2.7", **settings)
    headers = tmp_path / "site/_headers"
    assert wrong(report) == ["Content-Type is missing, not text/html", LINKLESS]
    assert report["names"] == [{"address": "192.0.2.7", "name": None, "reason": "has no name"}]
    headers.write_text(f"{headers.read_text()}/about.html\n  Content-Type: text/html\n")
    page.write_text('<link rel="client-ranges" href="client-ranges.json">')
    report = published(files=False, BOTPAGE_ADDRESSES="192.0.2.7,192.0.2.8", **settings)
    assert wrong(report) == ["192.0.2.8/32 of BOTPAGE_ADDRESSES is not there; scrapy identity write"]
    report = published(files=False, BOTPAGE_ADDRESSES="192.0.2.8", **settings)
    assert wrong(report)[1] == "192.0.2.7/32 is there, and not in BOTPAGE_ADDRESSES"


LINKLESS = "the page does not link to the addresses as client-ranges; scrapy botpage"
