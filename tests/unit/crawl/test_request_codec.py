from __future__ import annotations

import gc
import json
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Field, Item, Spider
from scrapy.http import FormRequest, JsonRequest, Request

from tests.rows import each_row
from webcrawl.crawl.request_codec import (
    RequestSerializer,
    decode,
    encode,
    is_explicit,
    is_repeatable,
    proxy_payload,
    read_revisit,
    read_token,
    with_token,
)
from webcrawl.fetching.meta import KEY, FetchMeta
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.records import UrlEntry
from webcrawl.scope.scope import Scope
from webcrawl.urls.politeness_key import PolitenessKey

URL = "http://a.test/x"


class Books(Spider):
    name = "books"

    def parse(self, response: Any, **words: Any) -> None:
        """A callback."""

    def parse_item(self, response: Any, **words: Any) -> None:
        """Another one."""

    def failed(self, failure: Any) -> None:
        """An errback."""


class PricedRequest(Request):
    """A Request with something of its own, as Scrapy's conventions have it."""

    attributes = (*Request.attributes, "price")

    def __init__(self, *args: Any, price: Any = None, **words: Any) -> None:
        self.price = price
        super().__init__(*args, **words)


class Colour(Enum):
    RED = 1


class Size(IntEnum):
    LARGE = 3


Point = namedtuple("Point", "x y")
SPIDER = Books()


def again(request: Request, repeat: bool = False) -> Request:
    """The Request after it was written down and read."""
    encoded = encode(request, SPIDER)
    assert encoded.lost == ()
    assert encoded.payload is not None
    encoded.payload.encode("ascii")
    return decode(request.url, encoded.payload, SPIDER, repeat)


def described(request: Request) -> dict[str, Any]:
    """Everything a Request says."""
    facts = {name: getattr(request, name) for name in request.attributes}
    facts["meta"] = {name: value for name, value in request.meta.items() if name != "verbatim_url"}
    return facts


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 80), 1 << 80),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=())),
    st.binary(max_size=20),
)
HASHABLE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.sets(HASHABLE, max_size=3),
        st.dictionaries(HASHABLE, inner, max_size=4),
        st.dictionaries(st.sampled_from(["$", "v", "a"]), inner, max_size=3),
    ),
    max_leaves=15,
)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
HEADERS = st.dictionaries(NAMES, st.lists(st.binary(max_size=9), min_size=1, max_size=3))


@given(
    headers=HEADERS,
    body=st.binary(max_size=50),
    method=st.sampled_from(["GET", "POST", "PUT", "delete"]),
    cookies=st.one_of(
        st.dictionaries(NAMES, NAMES, max_size=3),
        st.lists(st.fixed_dictionaries({"name": NAMES, "value": NAMES, "domain": NAMES}), max_size=2),
    ),
    meta=st.dictionaries(NAMES | st.just("$"), VALUES, max_size=4),
    cb_kwargs=st.dictionaries(NAMES | st.just("$"), VALUES, max_size=4),
    callback=st.sampled_from([None, "parse", "parse_item"]),
    errback=st.sampled_from([None, "failed"]),
    flags=st.lists(NAMES, max_size=2),
    priority=st.integers(-1000, 1000),
    dont_filter=st.booleans(),
    encoding=st.sampled_from(["utf-8", "latin-1", "koi8-r"]),
)
def test_a_request_of_plain_data_comes_back_as_it_was(
    callback: str | None, errback: str | None, **words: Any
) -> None:
    request = Request(
        URL,
        callback=getattr(SPIDER, callback) if callback else None,
        errback=getattr(SPIDER, errback) if errback else None,
        **words,
    )
    encoded = encode(request, SPIDER)
    assert encoded.lost == ()
    if encoded.payload is None:
        assert described(request) == described(Request(URL))
    else:
        assert described(again(request)) == described(request)


@given(st.dictionaries(HASHABLE, VALUES, max_size=4))
def test_meta_comes_back_whatever_its_keys_are(meta: dict[Any, Any]) -> None:
    request = Request(URL, priority=1, meta=meta)
    assert again(request).meta == {**meta, "verbatim_url": True}


@each_row(
    "value",
    [
        {1: "one", False: "no", None: "none"},
        {"1": "text", 1: "number"},
        {"$": "bytes", "v": "!"},
        {"$": {"$": {"$": 1}}},
        (1, (2, [3, {4}])),
        {b"bytes": (None, frozenset({(1, 2)}))},
        [float("inf"), -0.0, 1e-320],
        "\ud800 half a pair",
        "\x00 \u2028 \U0001f577",
        [],
        {},
        (),
    ],
    ids=repr,
)
def test_types_are_not_blurred(value: Any) -> None:
    back = again(Request(URL, meta={"value": value}, cb_kwargs={"value": value}))
    assert repr(back.meta["value"]) == repr(value)
    assert repr(back.cb_kwargs["value"]) == repr(value)


class Book(Item):
    """An item as Scrapy has them."""

    title = Field()
    tags = Field()


@dataclass
class Price:
    """An item as a dataclass."""

    amount: Decimal
    known_since: date | None = None

    def __post_init__(self) -> None:
        assert self.amount != 666, "somebody built it anew"


@dataclass(frozen=True, slots=True)
class Shelf:
    """One that cannot be changed."""

    books: tuple[Any, ...]


def test_items_come_back_with_what_they_hold() -> None:
    book = Book(title="é", tags={"a", 1})
    price = Price(Decimal("12.50"), date(2020, 2, 29))
    back = again(Request(URL, meta={"item": book}, cb_kwargs={"all": [price, Shelf((book, price))]}))

    assert type(back.meta["item"]) is Book
    assert back.meta["item"] == book
    assert back.cb_kwargs == {"all": [price, Shelf((book, price))]}


def test_an_item_comes_back_though_its_class_would_not_make_it_so() -> None:
    price = Price(Decimal(1))
    price.amount = Decimal(666)
    assert again(Request(URL, meta={"price": price})).meta["price"].amount == 666


@each_row(
    "value",
    [
        datetime(2020, 1, 1, 12, 30, 59, 999_999),
        datetime(2020, 1, 1, tzinfo=UTC),
        datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
        date(2020, 2, 29),
        Decimal("-0.10"),
        Decimal("NaN"),
    ],
    ids=repr,
)
def test_dates_and_decimal_numbers_come_back(value: Any) -> None:
    assert repr(again(Request(URL, meta={"value": value})).meta["value"]) == repr(value)


def test_an_item_with_something_beside_its_fields_or_in_them_is_named() -> None:
    price = Price(Decimal(1))
    price.more = 1  # type: ignore[attr-defined]
    for value in (price, Book(title=object()), Book, Price):
        [what] = lost(Request(URL, meta={"item": value}))
        assert what.startswith("meta['item'] (")


def test_a_request_that_says_no_more_than_its_url_needs_no_text() -> None:
    assert encode(Request(URL), SPIDER).payload is None
    assert (
        encode(Request(URL, meta={"depth": 3, "download_slot": "a", KEY: FetchMeta()}), SPIDER).payload
        is None
    )


def test_callback_and_errback_are_the_spider_s_own_methods_again() -> None:
    back = again(Request(URL, SPIDER.parse_item, errback=SPIDER.failed))
    assert back.callback == SPIDER.parse_item
    assert back.errback == SPIDER.failed


def test_headers_that_are_repeated_stay_repeated() -> None:
    back = again(Request(URL, headers={"X-Many": ["1", "2"], "Accept": "text/html"}))
    assert back.headers.getlist("x-many") == [b"1", b"2"]
    assert back.headers["Accept"] == b"text/html"


def test_a_form_comes_back_as_a_form() -> None:
    form = FormRequest(URL, formdata={"q": "caf\xe9", "page": "2"}, callback=SPIDER.parse)
    back = again(form)
    assert type(back) is FormRequest
    assert described(back) == described(form)


def test_json_comes_back_as_json_and_keeps_how_it_is_written() -> None:
    request = JsonRequest(URL, data={"b": [1], "a": None}, dumps_kwargs={"sort_keys": False, "indent": 2})
    back = again(request)
    assert isinstance(back, JsonRequest)
    assert described(back) == described(request)
    assert back.replace(data={"b": 1, "a": 2}).body == b'{\n  "b": 1,\n  "a": 2\n}'


def test_a_request_class_of_one_s_own_keeps_its_own_attributes() -> None:
    back = again(PricedRequest(URL, price=(3, "EUR")))
    assert isinstance(back, PricedRequest)
    assert back.price == (3, "EUR")


def test_dont_filter_is_kept_and_a_repeat_has_it_too() -> None:
    assert again(Request(URL, dont_filter=True)).dont_filter
    assert not again(Request(URL, priority=1)).dont_filter
    assert again(Request(URL, priority=1), repeat=True).dont_filter


def test_the_url_is_taken_as_it_is() -> None:
    url = "http://a.test/%7Ex?q=%zz&%E9#keep"
    assert decode(url, '{"priority":1}', SPIDER, False).url == url


def lost(request: Request) -> tuple[str, ...]:
    """What cannot be written of a request; the rest must still come back."""
    encoded = encode(request, SPIDER)
    assert encoded.payload is not None
    decode(URL, encoded.payload, SPIDER, False)
    return encoded.lost


class Local:
    """Somebody else's object."""

    def method(self, response: Any) -> None:
        """Not a method of the spider."""

    def __call__(self, response: Any) -> None:
        """Can be called, and has no name."""


@each_row(
    ("callback", "named"),
    [
        (lambda response: None, "callback <lambda>"),
        (Local().method, "callback Local.method"),
        (Books().parse, "callback Books.parse"),
        (partial(SPIDER.parse, word=1), "callback partial"),
        (Local(), "callback Local"),
        (print, "callback print"),
    ],
    ids=["lambda", "other-object", "other-spider", "partial", "callable", "builtin"],
)
def test_a_callback_that_is_no_method_of_the_spider_is_named(callback: Any, named: str) -> None:
    [what] = lost(Request(URL, callback))
    assert named.replace("callback ", "") in what
    assert what.startswith("callback ")


def endless() -> list[Any]:
    nested: list[Any] = []
    nested.append(nested)
    return nested


@each_row(
    "value",
    [
        object(),
        datetime(2020, 1, 1, tzinfo=ZoneInfo("UTC")),
        Colour.RED,
        Size.LARGE,
        Point(1, 2),
        OrderedDict(a=1),
        defaultdict(list),
        bytearray(b"x"),
        [1, {"deep": (2, object())}],
        {Colour.RED: 1},
        1 << 20_000,
        endless(),
        iter([]),
        open,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_plain_data_is_named_and_the_rest_is_kept(value: Any) -> None:
    request = Request(URL, meta={"file": value, "kept": 1}, cb_kwargs={"file": value, "kept": 2})
    encoded = encode(request, SPIDER)
    assert encoded.payload is not None
    assert {what.partition(" ")[0] for what in encoded.lost} == {"meta['file']", "cb_kwargs['file']"}
    back = decode(URL, encoded.payload, SPIDER, False)
    assert back.meta == {"kept": 1, "verbatim_url": True}
    assert back.cb_kwargs == {"kept": 2}


def test_a_key_that_is_no_plain_data_is_named() -> None:
    [what] = lost(Request(URL, meta={Colour.RED: 1}))
    assert "Colour" in what


def test_a_class_that_cannot_be_found_again_is_named() -> None:
    class HereOnly(Request):
        """Nobody else can have this class."""

    assert lost(HereOnly(URL))[0].endswith("HereOnly")


def test_an_attribute_that_is_no_plain_data_is_named() -> None:
    [what] = lost(PricedRequest(URL, price=object()))
    assert what.startswith("attributes['price']")


def test_flags_and_cookies_that_are_no_plain_data_are_named() -> None:
    request = Request(URL, cookies={"a": "b"}, flags=["cached"])
    request.flags.append(object())
    request.cookies = {"a": object()}
    assert [what.partition(" ")[0] for what in lost(request)] == ["cookies", "flags"]


@each_row(
    ("fields", "why"),
    [
        ({"callback": "parse_gone"}, "parse_gone"),
        ({"errback": "gone"}, "gone"),
        ({"class": "tests.unit.crawl.test_request_codec.Gone"}, "Gone"),
        ({"class": "no.such.module.Request"}, "no"),
        ({"class": "Nothing"}, "Nothing"),
        ({"class": "scrapy.http.Response"}, "no class of requests"),
        ({"class": "os.system"}, "no class of requests"),
        ({"meta": {"a": {"$": "item", "v": ["os.system", {"command": "true"}]}}}, "no class of items"),
        ({"meta": {"a": {"$": "item", "v": ["subprocess.Popen", {"args": "true"}]}}}, "no class of items"),
        ({"meta": {"a": {"$": "Decimal", "v": "x"}}}, "cannot be made again"),
        ({"own": {"price": 1}}, "price"),
        ({"meta": {"$": "Point", "v": [1, 2]}}, "Point"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_no_longer_fits_the_code_says_so(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode(URL, json.dumps(fields), SPIDER, False)


def test_text_that_is_no_request_says_so() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        decode(URL, "no json", SPIDER, False)


DEEP = '{"token":"t","revisit":[],"proxy":1,"meta":' + "[" * 100_000 + "]" * 100_000 + "}"


@each_row(
    "payload",
    [
        '"x"',
        '"token":',
        "1",
        "null",
        "[]",
        '["token","revisit"]',
        '{"meta":"proxy","headers":1,"proxy":',
        DEEP,
    ],
    ids=lambda payload: payload[:30],
)
def test_what_is_no_request_is_a_value_error_of_decode_and_nothing_to_other_readers(payload: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(URL, payload, SPIDER, False)
    assert read_token(payload) == ""
    assert read_revisit(payload) is None
    assert is_explicit(payload)
    assert proxy_payload(UrlEntry(URL, "http://a.test:80", b"", 0, 0, 0, payload=payload)) is None
    assert not is_repeatable(payload)


@each_row("meta", ['"proxy"', "[]", '{"proxy":"p"},"headers":1', '{"proxy":"p"},"headers":[1]'])
def test_a_proxy_that_is_no_proxy_of_a_request_is_none(meta: str) -> None:
    payload = f'{{"proxy":1,"meta":{meta}}}'
    assert proxy_payload(UrlEntry(URL, "http://a.test:80", b"", 0, 0, 0, payload=payload)) is None


def test_a_token_is_found_again_and_changes_nothing_else() -> None:
    payload = encode(Request(URL, meta={"name": "\ud800"}, priority=3), SPIDER).payload
    assert payload is not None
    assert read_token(payload) == ""
    marked = with_token(payload, "t0ken")
    assert read_token(marked) == "t0ken"
    assert described(decode(URL, marked, SPIDER, False)) == described(decode(URL, payload, SPIDER, False))


def test_a_token_in_somebody_s_meta_is_not_taken_for_ours() -> None:
    payload = encode(Request(URL, meta={"token": "theirs"}), SPIDER).payload
    assert payload is not None
    assert read_token(payload) == ""


def test_of_two_requests_for_one_url_each_keeps_its_callback() -> None:
    intake = Intake(PolitenessKey("domain"), Scope([]), Scope([]))
    spider = Books()
    serializer = RequestSerializer(intake, spider, is_shared=False)
    first = Request("http://a.test/", callback=spider.parse, dont_filter=True)
    second = Request("http://a.test/", callback=lambda response: None, dont_filter=True)
    entries = [serializer.entry(request) for request in (first, second)]
    assert [serializer.request(entry).callback for entry in entries if isinstance(entry, UrlEntry)] == [
        first.callback,
        second.callback,
    ]


def test_a_callback_that_is_set_later_is_called_while_its_request_is_kept() -> None:
    intake = Intake(PolitenessKey("domain"), Scope([]), Scope([]))
    serializer = RequestSerializer(intake, Books(), is_shared=False)
    request = Request("http://a.test/")
    entry = serializer.entry(request)
    assert isinstance(entry, UrlEntry)
    request.callback = lambda response: None
    assert serializer.request(entry) is request
    del request
    gc.collect()
    assert serializer.request(entry).callback is None
