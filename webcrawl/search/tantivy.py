"""Tantivy, an engine embedded in the process that uses it: an index is a folder of segments."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import tantivy
from tantivy import Filter, Occur, Tokenizer

from webcrawl.search.characters import JOINING, UNSPACED, UNSPACED_MARKS
from webcrawl.search.document import searchable_sites
from webcrawl.search.engine import (
    BOOSTS,
    NO_STEMMER,
    NOT_EXCLUDED_BY,
    Engine,
    EngineAway,
    EngineError,
    Hit,
    Options,
    SearchResults,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.search.document import IndexChange
    from webcrawl.search.engine import Piece, Query

WRITER_BYTES = 64_000_000
"""Bytes of memory in which changes are sorted before they become a segment."""
SNIPPET_CHARACTERS = 200
LONGEST_WORD = 250
"""The longest word in bytes; longer ones are not indexed."""

_WORDS = "words"
_RAW = "raw"
_UNSPACED = "".join(rf"\p{{{script}}}" for script in UNSPACED) + UNSPACED_MARKS
_WORD = rf"[{_UNSPACED}]|[\w--[{_UNSPACED}{JOINING}]]+"
_NO_ROOM = ("os error 28", "os error 122", "no space left", "quota exceeded")


class Tantivy(Engine):
    """``folder/index`` holds the index. Scores are BM25 of this index alone."""

    is_server: ClassVar[bool] = False

    def __init__(self, folder: Path, options: Options) -> None:
        self._path = folder / "index"
        self._analyzer = _analyzer(options.stemmer)
        self._schema = _schema()
        self._index: Any = None
        self._writer: Any = None

    def begin(self) -> None:
        with self._errors():
            self._path.mkdir(parents=True, exist_ok=True)
            index = tantivy.Index(self._schema, path=str(self._path))
            index.register_tokenizer(_WORDS, self._analyzer)
            self._writer = index.writer(WRITER_BYTES, 1)

    def put(self, changes: Sequence[IndexChange]) -> None:
        if self._writer is None:
            self.begin()
        try:
            with self._errors():
                for change in {change.url: change for change in changes}.values():
                    self._writer.delete_documents_by_term("url", change.url)
                    if change.document is not None:
                        self._writer.add_document(_document(change))
                self._writer.commit()
        except EngineError:
            # After an error a writer accepts no more changes; those not committed are lost with it.
            self._writer = None
            raise

    def finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with self._errors():
                writer.wait_merging_threads()

    def search(self, query: Query, limit: int) -> SearchResults:
        built = self._build_query(query)
        if not (self._path / "meta.json").exists():
            return SearchResults((), 0)
        with self._errors():
            if self._index is None:
                self._index = tantivy.Index.open(str(self._path))
                self._index.register_tokenizer(_WORDS, self._analyzer)
            self._index.reload()
            searcher = self._index.searcher()
            result = searcher.search(built, max(limit, 1))
            generator = tantivy.SnippetGenerator.create(searcher, built, self._schema, "text")
            generator.set_max_num_chars(SNIPPET_CHARACTERS)
            hits = [_hit(searcher.doc(address), score, generator) for score, address in result.hits[:limit]]
        return SearchResults(hits, result.count)

    def _build_query(self, query: Query) -> tantivy.Query:
        required = [[term for text in choice for term in self._in_fields(text)] for choice in query.required]
        excluded = [self._in_fields(text, without=NOT_EXCLUDED_BY) for text in query.excluded]
        # A word that is longer than the limit is in no page.
        parts = [(Occur.Must, _any(any_of)) for any_of in required]
        parts += [(Occur.MustNot, _any(any_of)) for any_of in excluded if any_of]
        for field, value in (("site", query.site), ("language", query.language)):
            if value is not None:
                term = tantivy.Query.term_query(self._schema, field, value, "basic")
                parts.append((Occur.Must, tantivy.Query.const_score_query(term, 0.0)))
        return tantivy.Query.boolean_query(parts)

    def _in_fields(self, text: str, without: str = "") -> list[tantivy.Query]:
        """Return queries for a word or phrase in any field but one; none if no word is left of it."""
        words = self._analyzer.analyze(text)
        if not words:
            return []
        return [
            tantivy.Query.boost_query(self._in_field(field, words), boost)
            for field, boost in BOOSTS.items()
            if field != without
        ]

    def _in_field(self, field: str, words: list[str]) -> tantivy.Query:
        if len(words) == 1:
            return tantivy.Query.term_query(self._schema, field, words[0], "freq")
        return tantivy.Query.phrase_query(self._schema, field, list(words))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the library's exceptions, which have no types of their own, into those of the contract."""
        try:
            yield
        except Exception as error:
            why = " ".join(str(error).split())
            kind = EngineAway if any(sign in why.lower() for sign in _NO_ROOM) else EngineError
            raise kind(f"{self._path}: {why}") from error


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name=_RAW, index_option="basic")
    builder.add_text_field("title", stored=True, tokenizer_name=_WORDS)
    builder.add_text_field("headings", tokenizer_name=_WORDS)
    builder.add_text_field("text", stored=True, tokenizer_name=_WORDS)
    builder.add_text_field("boilerplate", tokenizer_name=_WORDS)
    builder.add_text_field("language", stored=True, tokenizer_name=_RAW, index_option="basic")
    builder.add_text_field("site", tokenizer_name=_RAW, index_option="basic")
    builder.add_float_field("at", stored=True)
    return builder.build()


def _analyzer(stemmer: str) -> tantivy.TextAnalyzer:
    """Return an analyzer for words in lower case, without accents, reduced to stems if a language is named.

    A stemmer needs the accents of its language; the English one has none, and gets words without them.
    """
    analyzer = tantivy.TextAnalyzerBuilder(Tokenizer.regex(_WORD))
    analyzer = analyzer.filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
    if stemmer not in (NO_STEMMER, "english"):
        return analyzer.filter(Filter.stemmer(stemmer)).filter(Filter.ascii_fold()).build()
    analyzer = analyzer.filter(Filter.ascii_fold())
    return (analyzer if stemmer == NO_STEMMER else analyzer.filter(Filter.stemmer(stemmer))).build()


def _document(change: IndexChange) -> tantivy.Document:
    page = change.document
    assert page is not None
    document = tantivy.Document(
        url=change.url,
        title=page.title,
        headings=page.headings,
        text=page.text,
        boilerplate=page.boilerplate,
        at=float(change.at),
    )
    if page.language is not None:
        document.add_text("language", page.language)
    for site in searchable_sites(change.url):
        document.add_text("site", site)
    return document


def _any(queries: list[tantivy.Query]) -> tantivy.Query:
    return tantivy.Query.boolean_query([(Occur.Should, query) for query in queries])


def _hit(document: tantivy.Document, score: float, generator: tantivy.SnippetGenerator) -> Hit:
    first = document.get_first
    snippet = _pieces(generator.snippet_from_doc(document))
    if not snippet:
        snippet = [(str(first("text") or "")[:SNIPPET_CHARACTERS], False)]
    return Hit(
        url=str(first("url")),
        title=str(first("title") or ""),
        language=first("language"),
        score=score,
        at=float(first("at") or 0.0),
        snippet=snippet,
    )


def _pieces(snippet: tantivy.Snippet) -> list[Piece]:
    """Cut a snippet at the marks, whose positions are in bytes; adjacent marks are joined."""
    text, at = snippet.fragment().encode(), 0
    pieces: list[Piece] = []
    for mark in snippet.highlighted():
        if mark.start > at:
            pieces.append((text[at : mark.start].decode(), False))
        word = text[max(mark.start, at) : mark.end].decode()
        if pieces and pieces[-1][1]:
            pieces[-1] = (pieces[-1][0] + word, True)
        elif word:
            pieces.append((word, True))
        at = max(at, mark.end)
    if at < len(text):
        pieces.append((text[at:].decode(), False))
    return pieces
