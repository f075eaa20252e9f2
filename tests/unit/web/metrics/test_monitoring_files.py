"""The files for Prometheus and Grafana: they parse, and ask for metrics and labels that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.rows import each_row
from webcrawl.web.metrics import names

DEPLOY = Path(__file__).parents[4] / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
ALERT_CASES = DEPLOY / "prometheus" / "alerts_test.yml"
CONFIG = DEPLOY / "prometheus" / "prometheus.yml"
NAME = re.compile(r"\bwebcrawl_[a-z_]+\b")
TABLE = {metric.name: metric for metric in names.ALL}
NOT_DRAWN = {"webcrawl_sitemaps_total", "webcrawl_redirects_total", "webcrawl_worker_start_time_seconds"}


def wrong(expression: str) -> list[str]:
    """What is wrong with an expression: names that are not in the table, labels that a metric does not have,
    counters without a rate.
    """
    found = [pair for pair in ("()", "{}", "[]") if expression.count(pair[0]) != expression.count(pair[1])]
    for match in NAME.finditer(expression):
        metric = TABLE.get(match[0])
        if metric is None:
            found.append(match[0])
            continue
        selector = re.match(r"\{([^}]*)\}", expression[match.end() :])
        labels = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector[1] if selector else "")
        found += {*labels} - {*names.label_names(metric), "job", "instance"}
        if metric.kind is names.MetricType.COUNTER and not re.search(
            r"(rate|increase)\($", expression[: match.start()]
        ):
            found.append(f"{match[0]} without a rate")
    return found


@each_row(
    "expression",
    [
        "webcrawl_nothing",
        "sum(webcrawl_pages_total)",
        "rate(webcrawl_pages_total{host='a'}[5m])",
        "rate(webcrawl_pages_total[5m]",
    ],
)
def test_a_wrong_expression_is_found(expression: str) -> None:
    assert wrong(expression)


def test_the_dashboard_of_grafana_asks_for_metrics_that_are_there() -> None:
    board = json.loads((DEPLOY / "grafana" / "webcrawl.json").read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    asked = set()
    for panel in board["panels"]:
        assert panel["title"]
        for target in panel["targets"]:
            assert wrong(target["expr"]) == [], panel["title"]
            asked.update(NAME.findall(target["expr"]))
    assert TABLE.keys() - asked <= NOT_DRAWN


def test_the_examples_of_alerts_ask_for_metrics_that_are_there() -> None:
    groups = YAML(typ="safe").load(ALERTS)["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert {rule["alert"] for rule in rules} == {
        "WebcrawlDown",
        "WebcrawlStalled",
        "WebcrawlFetchesNothing",
        "WebcrawlManyErrors",
        "WebcrawlDiskFills",
        "WebcrawlAtPolitenessLimit",
        "WebcrawlWorkerGone",
    }
    for rule in rules:
        assert wrong(rule["expr"]) == [], rule["alert"]
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("warning", "critical")
    assert YAML(typ="safe").load(CONFIG)["rule_files"] == [ALERTS.name]


def test_each_alert_has_a_case_in_which_it_fires() -> None:
    rules = {rule["alert"] for group in YAML(typ="safe").load(ALERTS)["groups"] for rule in group["rules"]}
    cases = [case for test in YAML(typ="safe").load(ALERT_CASES)["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == rules
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == rules


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is in Debian's package prometheus")
@pytest.mark.parametrize(
    "words",
    [["check", "config", str(CONFIG)], ["check", "rules", str(ALERTS)], ["test", "rules", str(ALERT_CASES)]],
)
def test_prometheus_takes_its_files_and_alerts_fire_when_they_should(words: list[str]) -> None:
    done = subprocess.run(
        ["promtool", *words], capture_output=True, text=True, check=False, cwd=ALERTS.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rules found" in done.stdout or words[0] == "test"
