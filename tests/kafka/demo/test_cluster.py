"""The cluster class: brokers stop, crash, freeze and return; nothing outlives its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.errors import ClusterError
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from runtime.processes import free_ports
from tests.support import Names, eventually, kafka_tool, wait_until_in_sync

ROOT = Path(__file__).parents[3]


def seen_brokers(cluster: KafkaCluster) -> set[int]:
    return set(cluster.admin().list_topics(timeout=5).brokers)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip()[:1] not in {"", "Z"}


def test_three_brokers_answer_with_a_controller(kafka_cluster: KafkaCluster) -> None:
    metadata = kafka_cluster.admin().list_topics(timeout=5)
    assert set(metadata.brokers) == {1, 2, 3}
    assert metadata.controller_id in {1, 2, 3}
    assert metadata.cluster_id == kafka_cluster.cluster_id
    assert len(set(kafka_cluster.bootstrap_servers.split(","))) == 3


def test_kafkas_own_tool_sees_a_committed_group(kafka_cluster: KafkaCluster, names: Names) -> None:
    topic = names.topic("tool", partitions=1)
    group = names.group("tool")
    names.produce(topic, 7)
    names.commit(group, topic, {0: 3})
    answer = kafka_tool(
        kafka_cluster,
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--describe",
        "--group",
        group,
    )
    assert answer.returncode == 0, answer.stderr
    row = next(line.split() for line in answer.stdout.splitlines() if topic in line)
    assert row[2:6] == ["0", "3", "7", "4"]


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGTERM, id="orderly"), pytest.param(signal.SIGKILL, id="crash")],
)
def test_a_stopped_broker_leaves_metadata_and_returns(
    kafka_cluster: KafkaCluster, names: Names, number: int
) -> None:
    topic = names.topic("faults", partitions=3)
    names.produce(topic, 30)
    pid = kafka_cluster.pid(2)
    kafka_cluster.stop(2, number)
    try:
        assert not alive(pid)
        assert kafka_cluster.running == (1, 3)
        eventually(lambda: seen_brokers(kafka_cluster) == {1, 3}, what="metadata without broker 2")
        partitions = kafka_cluster.admin().list_topics(timeout=5).topics[topic].partitions
        assert all(2 not in each.isrs for each in partitions.values())
    finally:
        kafka_cluster.restart(2)
    assert seen_brokers(kafka_cluster) == {1, 2, 3}
    wait_until_in_sync(kafka_cluster)


def test_a_frozen_broker_keeps_its_process_and_returns(
    kafka_cluster: KafkaCluster, names: Names
) -> None:
    names.topic("frozen", partitions=3)
    pid = kafka_cluster.pid(3)
    kafka_cluster.freeze(3)
    try:
        assert alive(pid)
        eventually(lambda: _seen_from(kafka_cluster, 1) == {1, 2}, what="metadata without broker 3")
    finally:
        kafka_cluster.thaw(3)
    kafka_cluster.wait_until_ready()
    wait_until_in_sync(kafka_cluster)
    assert kafka_cluster.pid(3) == pid


def _seen_from(cluster: KafkaCluster, broker: int) -> set[int]:
    """Ask one broker only: a client of all may wait for the frozen one."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{cluster.port(broker)}", "log_level": 0})
    try:
        return set(admin.list_topics(timeout=3).brokers)
    except KafkaException:
        return set()


def test_restore_undoes_every_fault(kafka_cluster: KafkaCluster) -> None:
    kafka_cluster.kill(1)
    kafka_cluster.freeze(2)
    done = kafka_cluster.restore()
    assert done == ["broker 2 thawed", "broker 1 started again"]
    assert seen_brokers(kafka_cluster) == {1, 2, 3}
    wait_until_in_sync(kafka_cluster)


def test_restore_revives_a_cluster_of_which_nothing_runs(kafka_cluster: KafkaCluster) -> None:
    for broker in kafka_cluster.brokers:
        kafka_cluster.kill(broker)
    done = kafka_cluster.restore()
    assert done == [f"broker {broker} started again" for broker in kafka_cluster.brokers]
    assert seen_brokers(kafka_cluster) == {1, 2, 3}
    wait_until_in_sync(kafka_cluster)


def test_one_small_broker_keeps_data_over_a_restart(
    make_cluster: Callable[..., KafkaCluster],
) -> None:
    cluster = make_cluster(brokers=1, heap_mb=64)
    names = Names(cluster)
    topic = names.topic("kept", partitions=1)
    names.produce(topic, 5)
    cluster.restart(1)
    names.produce(topic, 5)
    group = names.group()
    names.commit(group, topic, {0: 10})
    answer = kafka_tool(
        cluster,
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        "--describe",
        "--group",
        group,
    )
    row = next(line.split() for line in answer.stdout.splitlines() if topic in line)
    assert row[3:6] == ["10", "10", "0"]


def test_kept_data_is_used_again_on_other_ports(kafka_java: Java, tmp_path: Path) -> None:
    with KafkaCluster(tmp_path / "kept", 1, 96, java=kafka_java) as first:
        names = Names(first)
        topic = names.topic("kept", partitions=1)
        names.produce(topic, 5)
        names.commit("keeper", topic, {0: 2})
        identity, servers = first.cluster_id, first.bootstrap_servers
    with KafkaCluster(tmp_path / "kept", 1, 96, java=kafka_java) as second:
        assert second.cluster_id == identity
        assert second.bootstrap_servers != servers
        answer = kafka_tool(
            second,
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            "--describe",
            "--group",
            "keeper",
        )
        row = next(line.split() for line in answer.stdout.splitlines() if topic in line)
        assert row[3:6] == ["2", "5", "3"]


def test_close_leaves_no_process_and_no_folder(make_cluster: Callable[..., KafkaCluster]) -> None:
    cluster = make_cluster(brokers=1)
    pid = cluster.pid(1)
    cluster.close(keep=False)
    assert not alive(pid)
    assert not cluster.folder.exists()


def test_a_broker_that_fails_at_start_is_told_with_its_log(
    make_cluster: Callable[..., KafkaCluster],
) -> None:
    with pytest.raises(ClusterError, match=r"(?s)broker 1 ended with exit status.*no\.such\.Class"):
        make_cluster(brokers=1, properties={"metric.reporters": "no.such.Class"})


def test_a_wrong_property_is_told(make_cluster: Callable[..., KafkaCluster]) -> None:
    with pytest.raises(ClusterError, match=r"could not be formatted.*num\.io\.threads"):
        make_cluster(brokers=1, properties={"num.io.threads": "none"})


def test_a_taken_port_is_told(make_cluster: Callable[..., KafkaCluster]) -> None:
    import socket

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(ClusterError, match=f"port {port} .*is taken"):
            make_cluster(brokers=1, ports=[port])


def test_nothing_outlives_a_killed_parent(kafka_cluster: KafkaCluster, tmp_path: Path) -> None:
    """Given a process with a cluster, when it gets SIGKILL, then its brokers end too."""
    script = textwrap.dedent(
        f"""
        import sys, time
        from pathlib import Path
        from demo.kafka.cluster import KafkaCluster
        cluster = KafkaCluster(Path({str(tmp_path / "orphan")!r}), 1, 96)
        cluster.start()
        cluster.freeze(1)
        print(cluster.pid(1), flush=True)
        time.sleep(600)
        """
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    broker = int(parent.stdout.readline())
    assert alive(broker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    eventually(lambda: not alive(broker), timeout_seconds=20, what="end of the orphaned broker")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"brokers": 0}, "at least one broker", id="no brokers"),
        pytest.param({"brokers": 1, "heap_mb": 32}, "64 MB of heap", id="heap too small"),
        pytest.param({"brokers": 3, "ports": [1, 2]}, "need 3 ports", id="too few ports"),
    ],
)
def test_impossible_clusters_are_refused(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ClusterError, match=message):
        KafkaCluster(tmp_path, **arguments)  # type: ignore[arg-type]


def test_unknown_and_stopped_brokers_are_refused(kafka_cluster: KafkaCluster) -> None:
    with pytest.raises(ClusterError, match="there is no broker 4: they are 1 to 3"):
        kafka_cluster.kill(4)


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
