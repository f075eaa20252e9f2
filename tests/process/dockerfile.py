"""Walks the Dockerfile where no container engine is: each step in a copy of this system that nobody else sees.

``unshare --mount python -m tests.process.dockerfile FOLDER HOST,... WORD...`` carries out the stages, each in an
overlay of the root folder below ``FOLDER``, and then runs the entry point with the words, once for each host name, at
the same time: as the image's user, with everything but /tmp and the volume read-only. It needs root, and ends with 0
when all of them did. This system stands in for the images that the stages begin from, so what these lack is not
noticed.
"""

from __future__ import annotations

import os
import shutil
import signal
import string
import subprocess
import sys
from pathlib import Path

from tests.process import containers


class Stage:
    """A stage of a build: a copy of the system, and what ENV, WORKDIR and USER said so far."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.directory = "/"
        self.user = "0:0"
        self.variables = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
        for name in ("root", "upper", "work"):
            (folder / name).mkdir(parents=True)
        layers = f"lowerdir=/,upperdir={folder / 'upper'},workdir={folder / 'work'}"
        _call("mount", "-t", "overlay", "overlay", "-o", layers, self.root)
        _call("mount", "--rbind", "/dev", self.root / "dev")
        self._stand_in()

    def carry_out(self, step: containers.Instruction, stages: dict[str, Stage]) -> None:
        """Do what one instruction says; those that only describe the image do nothing."""
        match step.name:
            case "WORKDIR":
                self.directory = step.text
                self.inside(step.text).mkdir(parents=True, exist_ok=True)
            case "ENV":
                for word in step.words:
                    name, _, value = word.partition("=")
                    self.variables[name] = string.Template(value).safe_substitute(self.variables)
            case "USER":
                self.user = step.text
            case "RUN":
                pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
                subprocess.run(self.words("sh", "-c", step.text, **pip), check=True)
            case "COPY":
                self._copy(step.words, stages)

    def words(self, *command: str, **variables: str) -> list[str]:
        """The command line that runs a command as the image would; it becomes the command, and keeps its PID."""
        given = [f"{name}={value}" for name, value in {**self.variables, **variables}.items()]
        become = ["chroot", f"--userspec={self.user}", "--groups=", str(self.root)]
        return [*become, "env", "-i", f"--chdir={self.directory}", *given, *command]

    def inside(self, path: str) -> Path:
        """Where a path of the image is."""
        return self.root / Path("/", self.directory, path).relative_to("/")

    def protect(self, *writable: str) -> None:
        """Make everything read-only but these folders, which keep their owners and are empty."""
        for name in writable:
            about = self.inside(name).stat()
            owner = f"uid={about.st_uid},gid={about.st_gid},mode={about.st_mode & 0o7777:o}"
            _call("mount", "-t", "tmpfs", "-o", owner, "tmpfs", self.inside(name))
        _call("mount", "-o", "remount,ro", self.root)

    def _copy(self, words: list[str], stages: dict[str, Stage]) -> None:
        origin = containers.ROOT
        if words[0].startswith("--from="):
            origin = stages[words.pop(0).partition("=")[2]].root
        *sources, target = words
        for source in (origin / name.removeprefix("/") for name in sources):
            into = self.inside(target)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__") if origin == containers.ROOT else None
                shutil.copytree(source, into, symlinks=True, dirs_exist_ok=True, ignore=ignored)
            else:
                shutil.copy2(source, into / source.name if target.endswith("/") else into)

    def _stand_in(self) -> None:
        """Give this system's Python the names that it has in the official images, and let everybody use it."""
        python = Path(sys.executable).resolve()
        for folder in python.parents[:-1]:
            inside = self.root / folder.relative_to("/")
            inside.chmod(inside.stat().st_mode | 0o555)
        # Where it lies, since it finds its library from there.
        name = self.inside(str(python.with_name("python")))
        if not name.is_symlink() and not name.exists():
            name.symlink_to(python.name)
        pip = self.inside("/usr/local/bin/pip")
        pip.write_text(f'#!/bin/sh\nexec {python} -m pip "$@"\n')
        pip.chmod(0o755)
        self.variables["PATH"] = f"/usr/local/bin:{python.parent}:{self.variables['PATH']}"


def walk(folder: Path) -> Stage:
    """Carry out all stages; return the one that is the image."""
    # On a file system of its own: an overlay cannot lie on another one.
    _call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", folder)
    stages: dict[str, Stage] = {}
    for number, steps in enumerate(containers.stages()):
        name = steps[0].text.partition(" AS ")[2] or str(number)
        stages[name] = stage = Stage(folder / name)
        for step in steps:
            stage.carry_out(step, stages)
    return stage


def main(folder: Path, hosts: list[str], words: list[str]) -> int:
    image = walk(folder)
    volume = containers.last("VOLUME").text
    image.protect("/tmp", volume)
    given = {name: value for name, value in os.environ.items() if name.startswith("WEBCRAWL_")}
    entry = image.words(*containers.last("ENTRYPOINT").words, *words, **given)
    called = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
    workers = [subprocess.Popen([*called, host, *entry]) for host in hosts]

    def stop(number: int, _: object) -> None:
        for worker in workers:
            worker.send_signal(number)

    signal.signal(signal.SIGTERM, stop)
    statuses = [worker.wait() for worker in workers]
    # What the workers left, for those outside who cannot see these folders.
    shutil.copytree(image.inside(volume), folder.with_name("volume"))
    return max(statuses, key=abs)


def _call(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]))
