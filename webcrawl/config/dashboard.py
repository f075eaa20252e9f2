"""Settings of the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from webcrawl.config.readers import EMPTY, SettingReader, choice, domains, switch, whole
from webcrawl.config.setting import setting


def listening_host() -> SettingReader:
    """The address of an interface, or ``localhost``."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise TypeError
        name = value.strip().removeprefix("[").removesuffix("]")
        return name if name == "localhost" else str(ip_address(name))

    return SettingReader("an address such as 127.0.0.1, ::1 or 0.0.0.0, or localhost", read)


def file_or_none() -> SettingReader:
    """The path of a file that may not exist yet; None when empty."""

    def read(value: object) -> Path | None:
        if value in EMPTY:
            return None
        if not isinstance(value, str | Path):
            raise TypeError
        if Path(value).is_dir():
            raise ValueError
        return Path(value)

    return SettingReader("the path of a file", read)


@dataclass(frozen=True, kw_only=True)
class DashboardSettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    dashboard_port: int = setting(
        whole(0, 65_535, zero="no dashboard"),
        0,
        "",
        "Port of the dashboard that a crawl starts beside itself.",
    )
    dashboard_host: str = setting(
        listening_host(),
        "127.0.0.1",
        "",
        "Address on which the dashboard listens.",
    )
    dashboard_reading: str = setting(
        choice("token", "open"),
        "token",
        "",
        "Who may read the dashboard: those with a token, or everybody who reaches it.",
    )
    dashboard_allowed_hosts: tuple[str, ...] = setting(
        SettingReader("a list of host names such as crawl.example.org", domains().read),
        [],
        "",
        "Further names by which browsers may call the dashboard, for example through a proxy.",
    )
    dashboard_public: bool = setting(
        switch(), False, "", "Serve only two forms to everybody: is a URL known, and suggest a URL."
    )
    dashboard_token_file: Path | None = setting(
        file_or_none(),
        None,
        "",
        "File with the owner's token. If unset, `dashboard.token` in the JOBDIR, or for a crawl on Redis a "
        "file in `~/.local/state/webcrawl`.",
    )
    dashboard_operators_file: Path | None = setting(
        file_or_none(),
        None,
        "",
        "File with operators by name and their tokens. If unset, `dashboard.operators` beside the token.",
    )
