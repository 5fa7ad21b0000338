"""What lies beside Prometheus and on a host: Grafana's dashboard, systemd's unit."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from tests.support import unavailable

DASHBOARD = Path("deploy/grafana/headroom.json")
UNIT = Path("deploy/systemd/headroom.service")


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    documented = set(re.findall(r"`(headroom_[a-z_]+)`", Path("docs/metrics.md").read_text()))
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries = [str(each["query"]) for each in dashboard["templating"]["list"]]
    named = set(re.findall(r"headroom_[a-z_]+", " ".join([*expressions, *queries])))
    assert len(expressions) == len(dashboard["panels"]) > 10
    assert named <= documented


def test_prometheus_understands_every_panel(tmp_path: Path) -> None:
    promtool = shutil.which("promtool") or unavailable("promtool is not installed")
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    rules = [
        {"record": f"panel:{panel['id']}", "expr": target["expr"]}
        for panel in panels
        for target in panel["targets"]
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        [promtool, "check", "rules", file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(panels)} rules found" in done.stdout


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze") or unavailable("systemd-analyze is not installed")
    program = tmp_path / "headroom"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    # The unit names a place of the host, and a user, that are not on this machine.
    text = re.sub(r"ExecStart=\S+", f"ExecStart={program}", text)
    unit.write_text(text)
    done = subprocess.run([verify, "verify", unit], capture_output=True, text=True, check=False)
    mine = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, mine) == (0, []), done.stderr
