"""``python -m tests.gauntlet.containers [--json FILE]``: exit status 0 if all that was judged holds, otherwise 1."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.gauntlet.containers import scenario
from tests.gauntlet.containers.engine import Engine, NoEngineError
from tests.gauntlet.scorecard import Scorecard, judged, lines_of, stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.scorecard import Judged

COMMAND = "make compose-test"


def main() -> int:
    """Build, run, judge, and remove all containers and volumes of the trial."""
    parser = argparse.ArgumentParser(prog="python -m tests.gauntlet.containers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scorecard here")
    options = parser.parse_args()
    try:
        engine = Engine(Path(sys.prefix) / "compose")
    except NoEngineError as error:
        print(f"There is no container engine: {error}", file=sys.stderr)
        return 1
    card = Scorecard("webcrawl in containers", engine.version, COMMAND)
    with stopwatch() as watch:
        engine.build()
    built = "The image is built from the Dockerfile."
    card.add(judged(scenario.SECTION, "build", built, True, f"in {watch.seconds:.0f} s", watch.seconds))
    _show(card, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which removes the containers
    with tempfile.TemporaryDirectory(prefix="webcrawl-trial-") as folder:
        Path(folder).chmod(0o755)
        deployment = scenario.Deployment(engine, Path(folder))
        try:
            for part in (scenario.shared_crawl, scenario.service):
                _judge(card, part.__name__, part(deployment))
                deployment.down("--volumes")
        finally:
            _clear(deployment)
    if options.json:
        options.json.write_text(card.to_json(), encoding="utf-8")
    print(card.summary())
    return card.exit_status


def _judge(card: Scorecard, name: str, rows: Iterator[Judged]) -> None:
    begun = len(card.rows)
    try:
        for row in rows:
            card.add(row)
            _show(card, begun)
            begun = len(card.rows)
    except (scenario.TooLateError, subprocess.SubprocessError, OSError) as error:
        card.add(judged(scenario.SECTION, name, "It comes to its end.", False, str(error)))
        _show(card, begun)


def _show(card: Scorecard, begun: int) -> None:
    for row in card.rows[begun:]:
        print("\n".join(lines_of(row)), flush=True)


def _clear(deployment: scenario.Deployment) -> None:
    try:
        deployment.down("--volumes")
    except subprocess.SubprocessError:
        print(f"Containers of the project {deployment.project} are left over.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
