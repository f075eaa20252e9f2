"""The files for Kubernetes name nothing that is not there, and ask for no more than a restricted namespace allows."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from webcrawl.config import Configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
HOME = ROOT / "deploy" / "kubernetes"
KINDS = {
    "Component": "kustomize.config.k8s.io/v1alpha1",
    "ConfigMap": "v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Namespace": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PersistentVolumeClaim": "v1",
    "PodDisruptionBudget": "policy/v1",
    "PodMonitor": "monitoring.coreos.com/v1",
    "Service": "v1",
    "StatefulSet": "apps/v1",
}
NAME = "app.kubernetes.io/name"
COMMANDS = {"redis-cli", "redis-server", "scrapy", *(path.name for path in (ROOT / "docker").iterdir())}
"""What the two images have."""


@dataclass
class Built:
    """A kustomization with all that it is made of."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    config_maps: dict[str, dict[str, str]] = field(default_factory=dict)
    files: set[Path] = field(default_factory=set)

    def templates(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The pods of the objects, by the object's kind."""
        for (kind, _), one in self.objects.items():
            if kind in ("Deployment", "Job", "StatefulSet"):
                yield kind, one["spec"]["template"]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one for (its, _), one in self.objects.items() if its == kind]


def load(path: Path) -> list[dict[str, Any]]:
    return [one for one in YAML(typ="safe", pure=True).load_all(path.read_text()) if one]


def build(folder: Path) -> Built:
    """Put a kustomization together, as far as these files need it."""
    built = Built()
    [kustomization] = load(folder / "kustomization.yaml")
    built.files.add(folder / "kustomization.yaml")
    assert KINDS[kustomization["kind"]] == kustomization["apiVersion"]
    for name in [*kustomization.get("resources", ()), *kustomization.get("components", ())]:
        path = (folder / name).resolve()
        if path.is_dir():
            below = build(path)
            assert not built.objects.keys() & below.objects.keys()
            built.objects |= below.objects
            built.config_maps |= below.config_maps
            built.files |= below.files
            continue
        built.files.add(path)
        for one in load(path):
            place = one["kind"], one["metadata"]["name"]
            assert place not in built.objects, place
            assert KINDS[one["kind"]] == one["apiVersion"]
            built.objects[place] = one
    for generator in kustomization.get("configMapGenerator", ()):
        data: dict[str, str] = {}
        for name in generator.get("files", ()):
            data[name] = (folder / name).read_text()
            built.files.add(folder / name)
        for name in generator.get("envs", ()):
            lines = (folder / name).read_text().splitlines()
            data |= dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
            built.files.add(folder / name)
        # `merge` and `replace` are for one that is there.
        behavior = generator.get("behavior", "create")
        assert (generator["name"] in built.config_maps) is (behavior != "create")
        merged = built.config_maps.get(generator["name"], {}) if behavior == "merge" else {}
        built.config_maps[generator["name"]] = {**merged, **data}
    for patch in kustomization.get("patches", ()):
        apply(built.objects[patch["target"]["kind"], patch["target"]["name"]], patch["patch"])
    return built


def apply(one: dict[str, Any], patch: str) -> None:
    """Carry out a JSON patch (RFC 6902) of ``add`` and ``replace``."""
    for step in YAML(typ="safe", pure=True).load(patch):
        *way, last = step["path"].strip("/").split("/")
        place = one
        for name in way:
            place = place[name]
        assert (last in place) is (step["op"] == "replace"), step
        place[last] = step["value"]


@pytest.fixture(params=["base", "overlays/example"])
def built(request: pytest.FixtureRequest) -> Built:
    return build(HOME / request.param)


def test_every_file_belongs_to_a_kustomization() -> None:
    used = build(HOME / "overlays" / "example").files | build(HOME / "base").files
    assert {path for path in HOME.rglob("*") if path.is_file()} == used


def test_every_setting_is_one(built: Built) -> None:
    fields = {name.upper() for name in Configuration.__dataclass_fields__} | {"REDIS_URL"}
    names = [name.removeprefix("WEBCRAWL_") for name in built.config_maps["settings"]]
    assert "CRAWLER_CONTACT" in names
    assert [name for name in names if name not in fields] == []
    # The same port is named three times.
    port = int(built.config_maps["settings"]["WEBCRAWL_METRICS_PORT"])
    [worker] = built.objects["Job", "worker"]["spec"]["template"]["spec"]["containers"]
    assert worker["ports"] == [{"name": "metrics", "containerPort": port}]


def test_every_selector_finds_pods_and_every_port_is_theirs(built: Built) -> None:
    pods = {template["metadata"]["labels"][NAME]: template["spec"] for _, template in built.templates()}
    for kind in ("Deployment", "StatefulSet"):
        for one in built.of_kind(kind):
            assert one["spec"]["selector"]["matchLabels"] == one["spec"]["template"]["metadata"]["labels"]
    selectors = [one["spec"]["selector"] for one in built.of_kind("Service")]
    for kind in ("PodDisruptionBudget", "PodMonitor"):
        selectors += [one["spec"]["selector"]["matchLabels"] for one in built.of_kind(kind)]
    for policy in built.of_kind("NetworkPolicy"):
        selectors.append(policy["spec"]["podSelector"]["matchLabels"])
        for rule in policy["spec"]["ingress"]:
            selectors += [peer["podSelector"]["matchLabels"] for peer in rule["from"]]
    assert {name for selector in selectors for name in selector} == {NAME}
    assert {selector[NAME] for selector in selectors} == set(pods)

    def ports(name: str) -> dict[str, int]:
        return {
            port["name"]: port["containerPort"] for one in pods[name]["containers"] for port in one["ports"]
        }

    for service in built.of_kind("Service"):
        offered = ports(service["spec"]["selector"][NAME])
        for port in service["spec"]["ports"]:
            assert port.get("targetPort", port["port"]) in {*offered, *offered.values()}
    for monitor in built.of_kind("PodMonitor"):
        offered = ports(monitor["spec"]["selector"]["matchLabels"][NAME])
        assert {end["port"] for end in monitor["spec"]["podMetricsEndpoints"]} <= set(offered)
    for one in built.of_kind("StatefulSet"):
        assert built.objects["Service", one["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"


def test_every_volume_probe_and_command_is_there(built: Built) -> None:
    for kind, template in built.templates():
        spec = template["spec"]
        claims = set()
        if kind == "StatefulSet":
            [owner] = [one for one in built.of_kind(kind) if one["spec"]["template"] is template]
            claims = {claim["metadata"]["name"] for claim in owner["spec"]["volumeClaimTemplates"]}
        for volume in spec.get("volumes", ()):
            if claim := volume.get("persistentVolumeClaim"):
                assert ("PersistentVolumeClaim", claim["claimName"]) in built.objects
            elif config_map := volume.get("configMap"):
                assert config_map["name"] in built.config_maps
            else:
                assert volume["emptyDir"] == {}
        volumes = claims | {volume["name"] for volume in spec.get("volumes", ())}
        for container in spec["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} == volumes
            for source in container.get("envFrom", ()):
                assert source["configMapRef"]["name"] in built.config_maps
            ports = {port["name"] for port in container["ports"]}
            commands = [container.get("command", ["worker"])[0]]
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                if "exec" in (asked := container.get(probe, {})):
                    commands.append(asked["exec"]["command"][0])
                elif asked:
                    assert asked["httpGet"]["path"] in ("/readyz", "/healthz")
                    assert asked["httpGet"]["port"] in ports
            assert set(commands) <= COMMANDS
            assert {"readinessProbe", "livenessProbe"} <= set(container)


def test_no_pod_may_do_more_than_it_must(built: Built) -> None:
    for _, template in built.templates():
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]


def test_a_budget_of_disruptions_lets_a_worker_go(built: Built) -> None:
    job = built.objects["Job", "worker"]["spec"]
    assert job["parallelism"] == job["completions"]
    assert built.objects["PodDisruptionBudget", "worker"]["spec"]["minAvailable"] == job["parallelism"] - 1


# -- the end of a worker --------------------------------------------------------------------------------

WORKER = """#!/bin/sh
trap 'exit {told}' TERM
echo ready "$@"
test {waits} = no && exit {own}
while :; do sleep 0.01; done
"""


@pytest.mark.parametrize(
    ("waits", "own", "told", "status"),
    [("no", 0, 0, 0), ("no", 2, 0, 2), ("yes", 0, 0, 143), ("yes", 0, 1, 1)],
    ids=["the crawl has ended", "it failed", "it was told to stop", "it failed at its stop"],
)
def test_a_job_is_told_whether_the_crawl_has_ended(
    tmp_path: Path, waits: str, own: int, told: int, status: int
) -> None:
    program = tmp_path / "worker"
    program.write_text(WORKER.format(waits=waits, own=own, told=told))
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [str(ROOT / "docker" / "until-done"), "crawl", "broad"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "ready crawl broad\n"
        if waits == "yes":
            job.send_signal(signal.SIGTERM)
        assert job.wait(30) == status
