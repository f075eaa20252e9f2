"""What Dockerfile and compose.yaml say, read so that tests can do the same without a container."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A line of a Dockerfile, continuation lines joined: ``COPY`` and ``a b``."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its arguments, in the JSON notation or as a shell would split them."""
        found = re.search(r"\[.*\]$", self.text)
        return json.loads(found[0]) if found else shlex.split(self.text)


def stages() -> list[list[Instruction]]:
    """The instructions of each stage of the Dockerfile, from its FROM on."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    found: list[list[Instruction]] = []
    for line in lines:
        name, _, arguments = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append(Instruction(name, arguments.strip()))
    return found


def last(name: str) -> Instruction:
    """The instruction of this name in the image's own stage."""
    (found,) = [instruction for instruction in stages()[-1] if instruction.name == name]
    return found


def environment() -> dict[str, str]:
    """The image's variables."""
    return dict(word.split("=", 1) for word in last("ENV").words)


def compose(**variables: str) -> Any:
    """compose.yaml, with ``variables`` and defaults in the place of ``${NAME:-default}``."""
    text = re.sub(
        r"\$\{(\w+):-([^}]*)\}",
        lambda found: variables.get(found[1], found[2]),
        (ROOT / "compose.yaml").read_text(),
    )
    return YAML(typ="safe").load(text)


def seconds(duration: str) -> int:
    """``90s`` or ``1m`` as a number."""
    number, unit = re.fullmatch(r"(\d+)([sm])", duration).groups()
    return int(number) * {"s": 1, "m": 60}[unit]
