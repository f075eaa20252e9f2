"""The extension rule and the list it comes with."""

from tests.rows import each_row
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import USELESS_EXTENSIONS, ExtensionRule

RULE = ExtensionRule()


def refused(url: str, rule: ExtensionRule = RULE) -> str | None:
    return rule.refuses(Candidate(url, "h.test", "h.test"))


@each_row(
    ("path", "extension"),
    [
        ("a.jpg", ".jpg"),
        ("a/b.JPG", ".jpg"),
        ("a.tar.gz", ".gz"),
        ("a.css?v=3", ".css"),
        ("a.js?x=/y.html", ".js"),
        (".zip", ".zip"),
        ("a.b.mp4", ".mp4"),
        ("a%20b.exe", ".exe"),
    ],
)
def test_what_is_never_a_page_is_refused_by_its_extension(path, extension):
    assert refused(f"http://h.test/{path}") == extension


@each_row(
    "url",
    [
        "http://h.test/",
        "http://h.test/a",
        "http://h.test/a.html",
        "http://h.test/a.php?b=c.jpg",
        "http://h.test/jpg",
        "http://h.zip/",
        "http://h.zip/a",
        "http://h.mov:8080/?a.jpg",
        "http://h.test/a.jpg/",
        "http://h.test/a.jpg/b",
        "http://h.test/sitemap.xml.gz",
        "http://h.test/SITEMAP.XML.GZ",
        "http://h.test/urls.txt.gz",
        "http://h.test/a.",
        "http://h.test/about/example.com",
        "http://h.test/a.pdf",
        "http://h.test/feed.xml",
        "http://h.test/feed.rss",
    ],
)
def test_what_may_be_a_page_is_not(url):
    assert refused(url) is None


def test_the_list_can_be_another_however_it_is_written():
    rule = ExtensionRule([".HTML", " php ", ""])
    assert refused("http://h.test/a.html", rule) == ".html"
    assert refused("http://h.test/a.PHP", rule) == ".php"
    assert refused("http://h.test/a.jpg", rule) is None
    assert refused("http://h.test/a.", rule) is None


def test_the_list_is_plain_extensions_without_those_that_pages_have():
    assert all(extension == extension.lower() and extension.isalnum() for extension in USELESS_EXTENSIONS)
    pages = "html htm xhtml shtml php php3 asp aspx jsp jspx do cgi pl cfm py txt md pdf xml rss atom com org"
    assert set(pages.split()).isdisjoint(USELESS_EXTENSIONS)
    assert {"jpg", "mp3", "mp4", "zip", "exe", "woff2", "css", "js", "gz", "svg", "ico"} <= set(
        USELESS_EXTENSIONS
    )
