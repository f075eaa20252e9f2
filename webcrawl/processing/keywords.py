"""Keywords from the main text of a page: words and phrases that it repeats, without function words.

The language is the one whose function words the text has most of. Phrases are runs of words between function words
and punctuation (Rose et al. 2010, "Automatic keyword extraction from individual documents"). A word counts by how
often it occurs, and more in headings and near the beginning. Nothing is random, and time and memory are bounded.
Languages that are written without spaces have no keywords.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.processing.main_text import HTML, headings, main_text

if TYPE_CHECKING:
    from webcrawl.processing.contract import Content

KEYWORDS_MAX = 8
"""The most keywords of a page."""
READ_MAX = 60_000
"""Characters of the text that are read."""
WORDS_LEAST = 40
"""A text of fewer words repeats nothing."""
PHRASE_MAX = 3
"""The most words of a keyword."""
TIMES_LEAST = 2
"""The least number of occurrences of a keyword."""
BEGINNING = 100
"""Number of words at the beginning that count twice, as headings do."""

_WORD = re.compile(r"[^\W\d_](?:[\w'\u2019-]{0,38}[^\W_])?|\d+|[^\w\s]|\n")
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

_LISTS = {
    "en": "a about after again all also although am an and another any are as at be because been before being "
    "both but by can could did do does doing down during each either few for from further had has have "
    "having he her here hers him his how however i if in into is it its itself just like made make many "
    "may me might more most much must my new no nor not now of off on once one only or other our out over "
    "own per same shall she should since so some such than that the their them then there these they this "
    "those through to too two under until up upon us use used using very via was we well were what when "
    "where whether which while who whom whose why will with within without would you your",
    "de": "aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bis bist da "
    "damit dann das dass dein dem den denn der des dich die dies diese diesem diesen dieser dieses dir "
    "doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen gewesen hab habe "
    "haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins "
    "ist jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner können könnte machen man "
    "mehr mein meine mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem "
    "seinen seiner seit sich sie sind so solche soll sollte sondern sonst über um und uns unser unter "
    "viel vom von vor während war waren warum was weil weiter welche welchem welchen welcher wenn wer "
    "werde werden wie wieder will wir wird wirst wo wurde wurden zu zum zur zwar zwischen",
    "fr": "à afin ai ainsi alors après au aucun aussi autre aux avait avant avec avoir car ce ceci cela celle "
    "celles celui ces cet cette ceux chaque chez ci comme comment contre d'un d'une dans de depuis des "
    "deux donc dont du elle elles en encore entre est et était été être eu eux fait faire il ils je jusqu "
    "l'on la le les leur leurs lors lui ma mais me même mes moins mon ne ni nos notre nous on ont ou où "
    "par parce pas pendant peu peut plus pour pourquoi qu'il qu'elle qu'on quand que quel quelle quelles "
    "quels qui quoi sa sans se selon sera ses si son sont sous sur ta te tes ton tous tout toute toutes "
    "très tu un une vers voir vos votre vous y",
    "es": "a al algo algunas algunos ante antes aquí así aún aunque bien cada como con contra cual cuando cuyo "
    "de del desde donde dos durante e el él ella ellas ellos en entre era eran es esa esas ese eso esos "
    "esta está están estas este esto estos fue fueron ha había han hasta hay la las le les lo los más me "
    "mi mientras muy nada ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco "
    "por porque puede pueden que qué quien se según ser si sí sin sobre solo son su sus también tan tanto "
    "te tiene tienen toda todas todo todos tras tu un una unas uno unos y ya yo",
    "it": "a ad ai al alla alle allo anche ancora avere che chi ci come con contro cosa così cui da dai dal "
    "dalla dalle dallo degli dei del della delle dello di dopo dove due e è ed era erano essere fra gli "
    "ha hanno i il in io la le lei lo loro lui ma me mi mia mio molto ne nei nel nella nelle nello noi "
    "non nostro o ogni ora per perché però più poi prima può quale quali quando quanto quella quelle "
    "quelli quello questa queste questi questo qui se sempre si sia solo sono sua sue sui sul sulla sulle "
    "suo tra tu tutti tutto un una uno vi voi",
    "pt": "a à ainda além ao aos apenas após as às até cada com como contra da das de dela dele deles depois "
    "desde do dos e é ela elas ele eles em entre era eram essa esse esta está estão este eu foi foram há "
    "isso isto já lhe mais mas me mesmo meu muito na não nas nem no nos nós nossa nosso num numa o os ou "
    "outra outras outro outros para pela pelas pelo pelos pode podem por porque quais qual quando que "
    "quem são se seja sem ser será seu seus só sobre sua suas também te tem têm ter toda todas todo todos "
    "um uma uns você vocês",
    "nl": "aan al alle alles als altijd andere ben bij binnen daar dan dat de deze die dit doch doen door dus "
    "een en er ge geen had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen "
    "maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds "
    "te tegen toch toen tot u uit uw van veel voor want waren was wat we wel werd wezen wie wij wil "
    "worden wordt zal ze zelf zich zij zijn zo zonder zou",
    "ru": "а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до "
    "его ее если есть еще же за здесь и из или им их к как ко когда который которая которые кто ли либо "
    "мне может можно мы на над надо наш не него нее нет ни них но ну о об однако он она они оно от очень "
    "по под после потом потому при про с свою себя так также такой там те тем то того тоже той только том "
    "ты у уже хотя чего чей чем что чтобы чье эта эти это этого этой этом этот я",
}
FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in _LISTS.items()
}
"""Function words by the code of their language."""


class Keywords:
    """Up to eight keywords from the main text, also of pages whose author names none."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {"text_keywords": "lines"}

    def __init__(self) -> None:
        # Imported in the processes of the pool, which use it.
        import webcrawl.processing.visible_text  # noqa: F401

    def process(self, content: Content) -> Mapping[str, Any]:
        return {"text_keywords": extract_keywords(main_text(content), headings(content))}


def extract_keywords(text: str, titles: Iterable[str] = ()) -> list[str]:
    """Return the keywords of a text, the best first, in lower case. ``titles``: its headings."""
    beginning = text[:READ_MAX]
    if len(_SPACELESS.findall(beginning)) > len(beginning) / 10:
        return []
    tokens = _WORD.findall(beginning.lower().replace("\u2019", "'"))
    words = [token for token in tokens if token[0].isalpha()]
    if len(words) < WORDS_LEAST:
        return []
    function_words = _function_words(words)
    times: Counter[tuple[str, ...]] = Counter()
    weights: Counter[tuple[str, ...]] = Counter()
    emphasized = _WORD.findall("\n".join(titles).lower().replace("\u2019", "'")[:READ_MAX])
    for source, is_heading in ((tokens, False), (emphasized, True)):
        for at, run in _runs(source, function_words):
            weight = 2 if is_heading or at < BEGINNING else 1
            for phrase in _phrases(run):
                times[phrase] += not is_heading
                weights[phrase] += weight
    scores = {
        # Two words that belong together say more than each alone.
        phrase: weights[phrase] * (2 * len(phrase) - 1)
        for phrase, number in times.items()
        if number >= TIMES_LEAST
    }
    return _best(scores, times)


def _function_words(words: list[str]) -> frozenset[str]:
    counted = Counter(words)
    number, language = max(
        (sum(counted[word] for word in known), name) for name, known in FUNCTION_WORDS.items()
    )
    return FUNCTION_WORDS[language] if number * 20 > len(words) else frozenset()


def _runs(tokens: list[str], function_words: frozenset[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the runs of content words with the places at which they begin."""
    run: list[str] = []
    for at, token in enumerate([*tokens, "\n"]):
        if token[0].isalpha() and len(token) > 1 and token not in function_words:
            run.append(token)
            continue
        if run:
            yield at - len(run), run
            run = []


def _phrases(run: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the phrases of a run: each word of three letters or more, and each sequence of two or three words."""
    for at in range(len(run)):
        for length in range(1, min(PHRASE_MAX, len(run) - at) + 1):
            if length > 1 or len(run[at]) > 2:
                yield tuple(run[at : at + length])


def _best(scores: Mapping[tuple[str, ...], int], times: Mapping[tuple[str, ...], int]) -> list[str]:
    """Return the best phrases, none of which is a part of a better one that occurs nearly as often, or holds one."""
    kept: list[tuple[str, ...]] = []
    for phrase in sorted(scores, key=lambda phrase_scored: (-scores[phrase_scored], phrase_scored)):
        if any(_overlap(phrase, longer) and 2 * times[longer] >= times[phrase] for longer in kept):
            continue
        kept.append(phrase)
        if len(kept) == KEYWORDS_MAX:
            break
    return [" ".join(phrase) for phrase in kept]


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return not set(one).isdisjoint(other)
