"""The cores within the limits of control groups, read from files as Linux has them."""

from __future__ import annotations

from webcrawl.workers.cores import cpu_limit, usable_cores


def limit(root, groups, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cpu_limit(groups, root)


def test_the_least_limit_of_all_groups_counts(tmp_path):
    cases = {
        "none": ("0::/a/b\n", {}, None),
        "no limit": ("0::/a\n", {"a/cpu.max": "max 100000\n"}, None),
        "its own": ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n"}, 1.5),
        "of one above": (
            "0::/a/b\n",
            {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "200000 100000\n", "cpu.max": "400000 100000\n"},
            2.0,
        ),
        "of the mounted group, as in a container": ("0::/machine/x\n", {"cpu.max": "300000 100000\n"}, 3.0),
        "version 1": (
            "4:memory:/x\n3:cpu,cpuacct:/x\n",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            0.5,
        ),
        "version 1, no limit": (
            "3:cpu,cpuacct:/x\n",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            None,
        ),
        "nonsense": ("0::/a\n", {"a/cpu.max": "many\n"}, None),
    }
    wrong = {}
    for number, (name, (groups, files, expected)) in enumerate(cases.items()):
        found = limit(tmp_path / str(number), groups, files)
        if found != expected:
            wrong[name] = found
    assert wrong == {}


def test_there_is_at_least_one():
    assert usable_cores() >= 1
