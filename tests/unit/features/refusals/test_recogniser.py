"""What is recognised as a refusal, by status, header and body; and what is not."""

from __future__ import annotations

import pytest

from webcrawl.features.refusals.recogniser import (
    BODY_MAX,
    LINKS_MAX,
    Recogniser,
    authority,
    has_many_links,
    visible_text,
)
from webcrawl.features.refusals.signatures import READ_BYTES, load, parse, sample_of
from webcrawl.politeness.refusals import SiteRefusal

OWN = load(None)
RECOGNISER = Recogniser(OWN)


def seen(status, headers=(), body=b"", recogniser=RECOGNISER):
    """The refusal of a response, as the crawl looks for it."""
    header = dict(headers).get
    if 200 <= status < 300:
        return recogniser.of_head(status, header) or recogniser.of_success(status, header, body)
    return recogniser.of_error(status, header, body)


@pytest.mark.parametrize("signature", OWN, ids=[signature.name for signature in OWN])
def test_each_sample_is_recognised_as_what_it_is(signature):
    sample = sample_of(signature.sample)
    refusal = seen(sample.status, sample.headers, sample.body)
    assert refusal == SiteRefusal(signature.kind, signature.by)


@pytest.mark.parametrize(
    ("status", "headers", "refusal"),
    [
        (401, {}, SiteRefusal("login-required")),
        (
            401,
            {"www-authenticate": 'Basic realm="a"'},
            SiteRefusal("login-required", detail='Basic realm="a"'),
        ),
        (
            401,
            {"www-authenticate": 'License error="invalid_request", uri="https://l.test/"'},
            SiteRefusal("license-required", detail='License error="invalid_request", uri="https://l.test/"'),
        ),
        (
            402,
            {"www-authenticate": "Basic, License x=1"},
            SiteRefusal("license-required", detail="License x=1"),
        ),
        (402, {}, SiteRefusal("payment-required")),
        (402, {"crawler-price": "USD 0.01"}, SiteRefusal("payment-required", detail="USD 0.01")),
        (403, {}, None),
        (403, {"cf-mitigated": "challenge"}, SiteRefusal("challenge", "Cloudflare")),
        (
            403,
            {"accept-signature": 'sig1=("@authority")'},
            SiteRefusal("signature-wanted", detail='sig1=("@authority")'),
        ),
        (404, {}, None),
        (426, {"upgrade": "TLS/1.2, HTTP/1.1"}, SiteRefusal("protocol-wanted", detail="TLS/1.2, HTTP/1.1")),
        (505, {}, SiteRefusal("protocol-wanted")),
        (429, {}, SiteRefusal("rate-limited")),
        (429, {"x-vercel-mitigated": "challenge"}, SiteRefusal("challenge", "Vercel")),
        (451, {}, SiteRefusal("legal")),
        (451, {"link": '<https://a.test/>; rel="blocked-by"'}, SiteRefusal("legal", "https://a.test/")),
        (500, {}, None),
        (503, {}, None),
        (503, {"retry-after": "5"}, None),
        (200, {"cf-mitigated": "challenge"}, None),
        (200, {"accept-signature": "sig1=()"}, None),
        (301, {"location": "/"}, None),
    ],
)
def test_statuses_and_fields_of_the_header_name_the_refusal(status, headers, refusal):
    assert seen(status, headers) == refusal


def test_a_page_with_a_captcha_for_its_form_is_no_gate():
    form = b'<p>Write to us</p><form><div class="g-recaptcha" data-sitekey="0"></div></form>'
    assert seen(200, body=form) is None
    assert seen(403, body=form) == SiteRefusal("challenge", "reCAPTCHA")


@pytest.mark.parametrize("signature", OWN, ids=[signature.name for signature in OWN])
def test_a_page_that_shows_the_source_of_a_sample_is_a_page(signature):
    source = signature.sample.replace("&", "&amp;").replace("<", "&lt;")
    text = "Some sites show such a page to programs that they do not know. " * 4
    page = f"<html><title>How it looks</title><body><p>{text}</p><pre>{source}</pre></body></html>".encode()
    assert seen(200, body=page) is None


def test_a_page_with_many_links_or_much_text_is_content_whatever_marks_it_has():
    sample = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    links = b'<a href="/x">x</a>'
    assert seen(200, body=sample + links * LINKS_MAX) == SiteRefusal("challenge", "Cloudflare")
    assert seen(200, body=sample + links * (LINKS_MAX + 1)) is None
    assert seen(200, body=sample + b" " * BODY_MAX) is None
    assert seen(200, body=b" " * READ_BYTES + sample) is None


def test_a_page_of_ads_of_a_registrar_is_parked_however_many_links_it_has():
    body = b'<html data-adblockkey="MFwwDQ"><body>' + b'<a href="/x">x</a>' * 40
    assert not has_many_links(body)
    assert seen(200, body=body) == SiteRefusal("parked", "AdSense for domains")


def test_an_application_without_content_needs_scripts_and_one_with_content_does_not():
    shell = (
        b"<title>Shop</title><noscript>You need to enable JavaScript to run this app.</noscript><div>%s</div>"
    )
    assert seen(200, body=shell % b"") == SiteRefusal("script-required", "React")
    assert seen(200, body=shell % (b"<p>Today we sell apples.</p>" * 10)) is None


def test_an_error_page_is_no_application_without_content():
    assert seen(404, body=b"<noscript>Please enable JavaScript</noscript>") is None


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (b"", ""),
        (b"plain", "plain"),
        (b"<b>a</b> c", "a c"),
        (b"<SCRIPT>x<b></SCRIPT>y", "y"),
        (b"<script>x</script>y<style>z</style><noscript>n</noscript>", "y"),
        (b"<script>never closed", ""),
        (b"a<b", "a"),
        (b"<title>t</title>b", "b"),
    ],
)
def test_the_visible_text_is_that_outside_of_scripts_and_styles(page, text):
    assert visible_text(page, 1000) == text


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("", None),
        ("<https://a.test/x>; rel=blocked-by", "https://a.test/x"),
        (
            '<https://b.test/>; rel="next", <https://a.test/>; title="x"; REL="nofollow Blocked-By"',
            "https://a.test/",
        ),
        ('<https://b.test/>; rel="next"', None),
        ("<a; rel=blocked-by", None),
    ],
)
def test_the_authority_is_the_target_of_the_link_blocked_by(link, target):
    assert authority(link) == target


def test_marks_of_a_header_and_of_the_body_must_all_be_there():
    [signature] = parse(
        "[[signature]]\nname = 'a'\nkind = 'blocked'\nsuccess = true\nheaders = { x-wall = 'on' }\nbody = ['<wall>']",
        "own",
    )
    recogniser = Recogniser([signature])
    assert seen(200, {"x-wall": "On, really"}, b"<wall>", recogniser) == SiteRefusal("blocked")
    assert seen(200, {"x-wall": "off"}, b"<wall>", recogniser) is None
    assert seen(200, {}, b"<wall>", recogniser) is None
    assert seen(200, {"x-wall": "on"}, b"<wal>", recogniser) is None


def test_without_signatures_statuses_are_named_still():
    recogniser = Recogniser([])
    assert seen(200, body=b"<title>Just a moment...</title>_cf_chl_opt", recogniser=recogniser) is None
    assert seen(402, recogniser=recogniser) == SiteRefusal("payment-required")


def test_facts_for_the_log_have_no_empty_values():
    assert SiteRefusal("legal").facts() == {"refusal": "legal"}
    assert SiteRefusal("legal", "https://a.test/", "x").facts() == {
        "refusal": "legal",
        "refusal_by": "https://a.test/",
        "refusal_detail": "x",
    }
