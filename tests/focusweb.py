"""A web of subjects in memory, on which crawls that look for one of them are measured.

What it assumes, for all subjects alike, so that nothing is made easy for the one that is looked for:

* 500 subjects in 25 fields, and by default 400,000 pages on 3,000 hosts; one page in 500 is about each subject.
  Half of all pages are on hosts that have a subject of their own (three pages in five are about it), the others on
  larger general ones, whose folders have subjects (half of a folder's pages; the rest are about anything).
* Subjects cluster as they do on the web (Chakrabarti, van den Berg & Dom 1999; Davison 2000): of a page's links a
  share between 0.3 and 0.5, drawn for the page, leads to pages of its subject; some to its field, some anywhere, and
  the rest are the host's own navigation, of which most leads to nothing in particular. A page has some 25 links.
* One page in 50 is a hub: it lists 60 links, most of them to one subject, without being about it.
* A quarter of a subject's pages are islands: no page of the subject outside leads there, nor any hub. They are
  reached through two or three pages in a row that are not relevant (gateways), to which one link in 40 of a page
  leads.
* Words: each subject has 20 words out of 2,500, so that a word belongs to four subjects. Of the links to a page 45 %
  say words of its subject, 35 % say nothing ("more"), 20 % have words of any subject. Words around a link are of the
  linking page's subject and of the target's, and chance ones. Half of the hosts have folders named after their
  subject, the others have numbers.
* Seeds are front pages of general hosts; none is relevant.
* ``relevance`` is 0.6 to 1 for pages of the subject, 0.15 to 0.4 for hubs and gateways of it, up to 0.3 within
  the field, and up to 0.1 elsewhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

SUBJECTS, FIELDS = 500, 25
WORDS, WORDS_EACH = 2500, 20
HUB_EVERY = 50
ISLAND_SHARE = 0.25
SEEDS = 10
COMMON = ("more", "here", "read on", "details", "next", "back", "click", "overview", "print", "archive")


@dataclass(frozen=True, slots=True)
class WebLink:
    """A link as a page has it."""

    url: str
    text: str
    around: str


@dataclass(frozen=True, slots=True)
class WebPage:
    url: str
    relevance: float
    links: tuple[WebLink, ...]


class FocusWeb:
    """Everything follows from ``seed``; a page is made when it is asked for."""

    def __init__(self, seed: int, pages: int = 400_000, hosts: int = 3_000) -> None:
        self.seed = seed
        self.pages = pages
        self.hosts = hosts
        draw = random.Random(seed)
        self.vocabulary = [draw.sample(range(WORDS), WORDS_EACH) for _ in range(SUBJECTS)]
        self.names = [_word(draw) for _ in range(WORDS)]
        self._lay_out(draw)
        usual = self.size / SUBJECTS
        near = [one for one in range(SUBJECTS) if abs(self._about(one) / usual - 1) < 0.1]
        self.subject = draw.choice(near)
        """The one that is looked for, of those that one page in 500 is about, within a tenth."""

    def _about(self, subject: int) -> int:
        return len(self.members[subject]) + len(self.islands[subject])

    def _lay_out(self, draw: random.Random) -> None:
        """Hosts, their sizes and subjects, and what each page is about."""
        special = 2 * self.hosts // 3
        sizes = [self.pages // 2 // special] * special
        others = self.hosts - special
        weights = [1 / (number + 20) for number in range(others)]
        rest = self.pages - sum(sizes)
        sizes += [max(int(rest * weight / sum(weights)), 12) for weight in weights]
        self.first: list[int] = []
        self.host_of: list[int] = []
        self.about: list[int] = []
        self.folder_of: list[int] = []
        self.folders: list[list[int]] = []
        self.named = [draw.random() < 0.5 for _ in range(self.hosts)]
        rand = draw.random
        for host, size in enumerate(sizes):
            self.first.append(len(self.about))
            is_special = host < special
            own = draw.randrange(SUBJECTS)
            count = 4 if is_special else 12
            folders = [own if is_special else draw.randrange(SUBJECTS) for _ in range(count)]
            self.folders.append(folders)
            share = 0.6 if is_special else 0.5
            for _ in range(size):
                folder = int(rand() * count)
                self.folder_of.append(folder)
                self.about.append(folders[folder] if rand() < share else int(rand() * SUBJECTS))
                self.host_of.append(host)
        self.size = len(self.about)
        self.kind = bytearray(self.size)
        self.members: list[list[int]] = [[] for _ in range(SUBJECTS)]
        self.islands: list[list[int]] = [[] for _ in range(SUBJECTS)]
        self.hubs: list[list[int]] = [[] for _ in range(SUBJECTS)]
        self.gateways: list[tuple[list[int], list[int], list[int]]] = [([], [], []) for _ in range(SUBJECTS)]
        fronts = set(self.first)
        for page, about in enumerate(self.about):
            chance = rand()
            if page in fronts:
                self.kind[page] = FRONT
            elif chance < 1 / HUB_EVERY:
                self.kind[page] = HUB
                self.hubs[about].append(page)
            elif chance < 1 / HUB_EVERY + 0.02:
                step = int(rand() * 3)
                self.kind[page] = GATEWAY + step
                self.gateways[about][step].append(page)
            elif chance > 1 - ISLAND_SHARE:
                self.kind[page] = ISLAND
                self.islands[about].append(page)
            else:
                self.members[about].append(page)

    # -- what is asked ------------------------------------------------------------------------------------

    @cached_property
    def seeds(self) -> list[str]:
        draw = random.Random(self.seed + 1)
        general = range(2 * self.hosts // 3, self.hosts)
        return [self.url(self.first[host]) for host in draw.sample(general, SEEDS)]

    @cached_property
    def keywords(self) -> frozenset[str]:
        """Two words by which an operator would ask for the subject."""
        return frozenset(self.names[word] for word in self.vocabulary[self.subject][:2])

    @cached_property
    def relevant(self) -> int:
        """Pages of the subject."""
        return self._about(self.subject)

    def url(self, page: int) -> str:
        host = self.host_of[page]
        if self.kind[page] == FRONT:
            return f"http://h{host}.test/"
        folder = self.folder_of[page]
        name = self.names[self.vocabulary[self.folders[host][folder]][folder]] if self.named[host] else folder
        return f"http://h{host}.test/{name}/p{page}.html"

    def page_at(self, url: str) -> int:
        last = url.rpartition("/")[2]
        if not last:
            return self.first[int(url[8:].partition(".")[0])]
        return int(last[1:-5])

    def is_relevant(self, url: str) -> bool:
        """Whether a page is of the subject."""
        return self.relevance(self.page_at(url)) >= 0.5

    def relevance(self, page: int) -> float:
        """What a judge says of it."""
        draw = (page * 2654435761 + self.seed) % 1009 / 1009
        about, kind = self.about[page], self.kind[page]
        if about == self.subject and kind != FRONT:
            return 0.6 + 0.4 * draw if kind in (MEMBER, ISLAND) else 0.15 + 0.25 * draw
        if about % FIELDS == self.subject % FIELDS:
            return 0.3 * draw
        return 0.1 * draw

    def fetch(self, url: str) -> WebPage:
        page = self.page_at(url)
        draw = random.Random(page * 1_000_003 + self.seed)
        targets = self._targets(page, draw)
        links = tuple(self._link(page, target, draw) for target in dict.fromkeys(targets))
        return WebPage(url, self.relevance(page), links)

    # -- links --------------------------------------------------------------------------------------------

    def _targets(self, page: int, draw: random.Random) -> list[int]:
        kind, about = self.kind[page], self.about[page]
        if kind == FRONT:
            host = self.host_of[page]
            return [self._in_host(host, draw) for _ in range(30)] + [self._anywhere(draw) for _ in range(10)]
        if kind == HUB:
            return [self._of(about, draw) for _ in range(40)] + [self._anywhere(draw) for _ in range(20)]
        if kind >= GATEWAY:
            return self._through(kind - GATEWAY, about, draw)
        count = max(5, int(draw.lognormvariate(3.1, 0.5)))
        own = draw.uniform(0.3, 0.5)
        inside = kind == ISLAND
        return [self._followed(page, about, own, inside, draw) for _ in range(count)]

    def _followed(self, page: int, about: int, own: float, inside: bool, draw: random.Random) -> int:
        chance = draw.random()
        if chance < own:
            return self._one(self.islands[about], draw) if inside else self._of(about, draw)
        if chance < own + 0.025:
            return self._one(self.gateways[about][0], draw)
        if chance < own + 0.03:
            return self._one(self.hubs[about], draw)
        if chance < own + 0.13:
            field = about % FIELDS + FIELDS * draw.randrange(SUBJECTS // FIELDS)
            return self._of(field, draw)
        if chance < own + 0.23:
            return self._anywhere(draw)
        host = self.host_of[page]
        return self.first[host] if draw.random() < 0.1 else self._in_host(host, draw)

    def _through(self, step: int, about: int, draw: random.Random) -> list[int]:
        """Of the first page of a passage, or of one that follows."""
        gateways, islands = self.gateways[about], self.islands[about]
        onward = [gateways[1], gateways[2] if draw.random() < 0.5 else islands, islands][step]
        return [self._one(onward, draw) for _ in range(8)] + [self._anywhere(draw) for _ in range(16)]

    def _of(self, about: int, draw: random.Random) -> int:
        return self._one(self.members[about], draw)

    def _one(self, pages: list[int], draw: random.Random) -> int:
        # Some pages are much more linked to than others.
        return pages[int(len(pages) * draw.random() ** 1.5)] if pages else self._anywhere(draw)

    def _anywhere(self, draw: random.Random) -> int:
        while self.kind[page := draw.randrange(self.size)] == ISLAND:
            pass
        return page

    def _in_host(self, host: int, draw: random.Random) -> int:
        first = self.first[host]
        last = self.first[host + 1] if host + 1 < self.hosts else self.size
        for _ in range(5):
            if self.kind[page := draw.randrange(first, last)] != ISLAND:
                return page
        return first

    def _link(self, page: int, target: int, draw: random.Random) -> WebLink:
        chance = draw.random()
        if self.kind[target] >= GATEWAY and chance < 0.5:
            text = draw.choice(("links", "resources", "directory", "members"))
        elif chance < 0.45:
            text = self._words(self.about[target], draw.randint(1, 3), draw)
        elif chance < 0.8:
            text = draw.choice(COMMON)
        else:
            text = self._words(draw.randrange(SUBJECTS), 2, draw)
        around = [self._words(self.about[page], 2, draw), self._words(draw.randrange(SUBJECTS), 2, draw)]
        if draw.random() < 0.4:
            around.append(self._words(self.about[target], 2, draw))
        return WebLink(self.url(target), text, " ".join(around))

    def _words(self, subject: int, count: int, draw: random.Random) -> str:
        words = self.vocabulary[subject]
        return " ".join(self.names[words[int(WORDS_EACH * draw.random() ** 2)]] for _ in range(count))


MEMBER, FRONT, HUB, ISLAND, GATEWAY = range(5)
"""Kinds of pages; the gateways are three, one behind the other."""

_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo zu am el in or un".split()  # noqa: SIM905 - is read


def _word(draw: random.Random) -> str:
    return "".join(draw.choice(_SYLLABLES) for _ in range(draw.randint(2, 4)))
