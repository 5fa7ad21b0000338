from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from config.errors import ConfigError
from config.load import CONFIG_VARIABLE, load, load_from_environment
from config.settings import Settings
from tests.selection import MARK

CLUSTER = "clusters: [{name: a, bootstrap_servers: 'kafka-1:9092'%s}]\n"
EXAMPLE = Path("config/example.yaml")


def write(folder: Path, text: str) -> Path:
    path = folder / "headroom.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def problem(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as error:
        load(write(folder, text))
    return str(error.value).removeprefix(f"{folder}/headroom.yaml: ")


def test_three_lines_are_enough(tmp_path: Path) -> None:
    settings = load(write(tmp_path, CLUSTER % ""))

    assert settings.clusters[0].name == "a"
    assert settings.poll_interval_seconds(settings.clusters[0]) == 15
    assert settings.lake.uri == str(tmp_path / "headroom-data" / "lake")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("", "clusters: is missing", id="empty file"),
        pytest.param("[1]", "must be a mapping with the key clusters", id="a list"),
        pytest.param(CLUSTER % "" + "colour: red", "colour: unknown key", id="unknown key"),
        pytest.param(
            CLUSTER % ", colour: red", "clusters[0].colour: unknown key", id="unknown nested key"
        ),
        pytest.param(
            "clusters: [{name: a, bootstrap_servers: 'http://kafka'}]",
            "clusters[0].bootstrap_servers: each server must read host:port, for example "
            "kafka-1:9092",
            id="bad address",
        ),
        pytest.param(
            "clusters: [{name: a, bootstrap_servers: 'kafka:70000'}]",
            "clusters[0].bootstrap_servers: each server must read host:port, for example "
            "kafka-1:9092",
            id="port out of range",
        ),
        pytest.param(
            "clusters: [{name: a, bootstrap_servers: 'x:1'}, {name: a, bootstrap_servers: 'y:1'}]",
            "clusters: two clusters have the name a",
            id="two clusters of one name",
        ),
        pytest.param(
            CLUSTER % ""
            + "scaling: {spark_queries: [{name: q, cluster: z, topics: [t], task_per_second: 5}]}",
            "scaling: q: there is no cluster z",
            id="query of an unknown cluster",
        ),
        pytest.param(
            CLUSTER % ", properties: {sasl.password: hunter2}",
            "clusters[0].properties: sasl.password: a secret must come from the environment or a "
            "file: write {env: NAME} or {file: PATH}",
            id="secret written out",
        ),
        pytest.param(
            CLUSTER % ", properties: {sasl.password: {env: NOT_SET_ANYWHERE}}",
            "clusters[0].properties: sasl.password: the environment variable NOT_SET_ANYWHERE is "
            "not set",
            id="secret missing in the environment",
        ),
        pytest.param(
            CLUSTER % ", properties: {sasl.password: {file: /nowhere/secret}}",
            "clusters[0].properties: sasl.password: the secret's file /nowhere/secret cannot be "
            "read: No such file or directory",
            id="secret's file missing",
        ),
        pytest.param(
            CLUSTER % ", topics: {include: ['(']}",
            "clusters[0].topics.include[0]: not a regular expression: missing ): (",
            id="broken expression",
        ),
        pytest.param(
            "clusters:\n - name: a\n   name: b",
            "line 3: the key name stands there twice",
            id="a key twice",
        ),
        pytest.param(
            CLUSTER % "" + "alerting: {dashboard_url: 'javascript:alert(1)'}",
            "alerting.dashboard_url: must read http://host:port or https://host:port",
            id="address that is a script",
        ),
        pytest.param(
            "clusters: [",
            "line 1: expected the node content, but found '<stream end>'",
            id="not YAML",
        ),
        pytest.param(
            CLUSTER % "" + "spark: {master: 'mesos://x'}",
            "spark.master: String should match pattern '^(local(\\[.+\\])?|spark://.+|yarn|k8s://"
            ".+|sc://.+)$'",
            id="unknown kind of master",
        ),
    ],
)
def test_each_problem_is_one_line_that_names_the_key(tmp_path: Path, text: str, line: str) -> None:
    assert problem(tmp_path, text) == line


ALIASES = "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        pytest.param("{? [a, b] : c}", "a key must be a text, not a list", id="a list as a key"),
        pytest.param("{? {a: b} : c}", "a key must be a text, not a list", id="a mapping as a key"),
        pytest.param("{1: x}", 'a key must be a text: write "1" in quotes', id="a number as a key"),
        pytest.param("{on: x}", 'write "on" in quotes', id="a boolean as a key"),
        pytest.param("{~: x}", 'write "~" in quotes', id="null as a key"),
        pytest.param("2020-02-30", "cannot be read as timestamp", id="no date"),
        pytest.param("2020-01-01 99:99:99", "cannot be read as timestamp", id="no time"),
        pytest.param("9" * 5000, "cannot be read as int", id="a very long number"),
        pytest.param("!!int secret", "cannot be read as int", id="no integer"),
        pytest.param("!!int ''", "cannot be read as int", id="an empty integer"),
        pytest.param("!!float secret", "cannot be read as float", id="no float"),
        pytest.param("!!bool secret", "cannot be read as bool", id="no boolean"),
        pytest.param("!!timestamp secret", "cannot be read as timestamp", id="no timestamp"),
        pytest.param('"\\ud800"', "cannot be read as str", id="half a surrogate pair"),
        pytest.param("&x [*x]", "contains itself", id="a list in itself"),
        pytest.param("&x {a: *x}", "contains itself", id="a mapping in itself"),
        pytest.param("!!python/name:os.system x", "could not determine", id="a tag of Python"),
    ],
)
def test_yaml_that_cannot_be_read_is_one_line_with_its_number(
    tmp_path: Path, value: str, line: str
) -> None:
    said = problem(tmp_path, f"{CLUSTER % ''}lake:\n  uri: {value}")
    assert said.startswith("line 3: ")
    assert line in said
    assert len(said.splitlines()) == 1
    assert "secret" not in said


@pytest.mark.parametrize("levels", [60, 3_000, 300_000])
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "[{? "])
def test_yaml_that_is_nested_too_deeply_is_one_line(
    tmp_path: Path, opening: str, levels: int
) -> None:
    text = "clusters:\n  " + opening * levels
    assert problem(tmp_path, text) == "line 2: is nested too deeply"


def test_a_configuration_that_no_person_wrote_is_not_read(tmp_path: Path) -> None:
    assert problem(tmp_path, "# " + "x" * 2**23) == "is larger than 8 MB"


ODD = ("[", "{", "- ", "? ", ": ", "!!int ", "&a ", "*a", "<<: ", "|", ">", "%", "@", "`", "\x00")
ODD += ("'", '"', "\t", "\n", "\n  ", "9" * 5000, "2020-02-30", "99:99:99", "\ufeff", "\u2028", "~")


def mutated(seed: int) -> str:
    chance = random.Random(seed)  # noqa: S311  which character is odd is no secret
    text = (
        re.sub(r"(?m)^# ?", "", EXAMPLE.read_text(encoding="utf-8")) if seed % 2 else CLUSTER % ""
    )
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(ODD) + text[at + chance.choice((0, 0, 1, 20)) :]
    return text


def try_mutated(folder: Path, seeds: range) -> None:
    for seed in seeds:
        path = write(folder, mutated(seed))
        try:
            load(path)
        except ConfigError as error:
            lines = str(error).splitlines()
            assert all(line.startswith(f"{path}: ") for line in lines), seed
            assert "Traceback" not in str(error)


def test_whatever_stands_in_the_file_is_said_in_lines_that_name_it(tmp_path: Path) -> None:
    try_mutated(tmp_path, range(150))


@MARK
def test_whatever_stands_in_very_many_files(tmp_path: Path) -> None:
    try_mutated(tmp_path, range(150, 4_000))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("clusters: [{name: a, bootstrap_servers: *x8}]", id="an address"),
        pytest.param(CLUSTER % ", properties: {sasl.password: {env: *x8}}", id="a secret's name"),
    ],
)
def test_aliases_that_would_never_end_are_refused(tmp_path: Path, text: str) -> None:
    content = f"x0: &x0 [{', '.join('aaaaaaaaaa')}]\n{ALIASES}{text}"
    assert problem(tmp_path, content) == "its aliases repeat too much"


@pytest.mark.parametrize(
    "value", ["[['kafka:9092']]", "[{kafka: 9092}]", "[9092]", "[null]", "{kafka: 9092}", "9092"]
)
def test_an_address_must_be_a_text(tmp_path: Path, value: str) -> None:
    said = problem(tmp_path, f"clusters: [{{name: a, bootstrap_servers: {value}}}]")
    assert said.startswith("clusters[0].bootstrap_servers: each server must read host:port")


def test_two_problems_are_two_lines(tmp_path: Path) -> None:
    lines = problem(tmp_path, CLUSTER % ", colour: red" + "sound: loud").splitlines()

    assert [line.split(": ")[-2] for line in lines] == ["clusters[0].colour", "sound"]


def test_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.yaml: cannot be read.*--config"):
        load(tmp_path / "nothing.yaml")


def test_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_COLLECTORS__POLL_INTERVAL_SECONDS", "30")
    monkeypatch.setenv("HEADROOM_LAKE__URI", "s3://bucket/lake")

    settings = load(write(tmp_path, CLUSTER % "" + "collectors: {poll_interval_seconds: 5}"))

    assert settings.collectors.poll_interval_seconds == 30
    assert settings.lake.uri == "s3://bucket/lake"
    assert not settings.lake.is_local


@pytest.mark.parametrize(
    ("variable", "named"),
    [
        pytest.param(
            "HEADROOM_COLECTORS__POLL_INTERVAL_SECONDS", "HEADROOM_COLECTORS", id="section"
        ),
        pytest.param("HEADROOM_COLLECTORS__POLL_SECONDS", "collectors.poll_seconds", id="key"),
    ],
)
def test_unknown_override_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, named: str
) -> None:
    monkeypatch.setenv(variable, "30")

    with pytest.raises(ConfigError, match=re.escape(named)):
        load(write(tmp_path, CLUSTER % ""))


def test_secrets_are_found_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret_file = tmp_path / "password"
    secret_file.write_text("from-a-file\n", encoding="utf-8")
    monkeypatch.setenv("KAFKA_PASSWORD", "from-the-environment")
    text = CLUSTER % (
        ", properties: {sasl.password: {env: KAFKA_PASSWORD}, enable.x: true, retries: 3, "
        f"ssl.key.password: {{file: {secret_file}}}}}"
    )

    cluster = load(write(tmp_path, text)).clusters[0]

    assert isinstance(cluster.properties["sasl.password"], SecretStr)
    assert "from-" not in repr(cluster) + str(cluster.model_dump()) + cluster.model_dump_json()
    assert cluster.librdkafka() == {
        "bootstrap.servers": "kafka-1:9092",
        "client.id": "headroom",
        "sasl.password": "from-the-environment",
        "ssl.key.password": "from-a-file",
        "enable.x": "true",
        "retries": "3",
    }


def test_config_variable_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, str(write(tmp_path, CLUSTER % "")))

    assert load_from_environment().clusters[0].name == "a"

    monkeypatch.delenv(CONFIG_VARIABLE)
    with pytest.raises(ConfigError, match=CONFIG_VARIABLE):
        load_from_environment()


def test_the_examples_first_five_lines_are_a_configuration(tmp_path: Path) -> None:
    lines = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line]
    five = [line for line in lines if not line.startswith("#")]

    assert len(five) == 5
    assert load(write(tmp_path, "\n".join(five))).clusters[0].name == "production"


def _keys(model: Any, prefix: str = "") -> set[str]:
    keys = set()
    for name, field in model.model_fields.items():
        keys.add(f"{prefix}{name}")
        for inner in [field.annotation, *getattr(field.annotation, "__args__", ())]:
            if hasattr(inner, "model_fields"):
                keys |= _keys(inner, f"{prefix}{name}.")
    return keys


def test_the_example_documents_every_key() -> None:
    documented = set()

    def walk(node: Any, prefix: str = "") -> None:
        for item in node if isinstance(node, list) else [node]:
            if isinstance(item, dict):
                for key, value in item.items():
                    documented.add(f"{prefix}{key}")
                    walk(value, f"{prefix}{key}.")

    text = EXAMPLE.read_text(encoding="utf-8")
    commented = text[text.rindex("# ----") :].splitlines()[1:]
    walk(yaml.safe_load("\n".join(line.removeprefix("#").removeprefix(" ") for line in commented)))

    assert _keys(Settings) - documented == set()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("collectors: {poll_interval_seconds: 300}", id="all"),
        pytest.param("alerting: {evaluate_seconds: 300}", id="evaluations"),
        pytest.param(
            "rabbitmq: [{name: r, url: 'http://r', poll_interval_seconds: 300}]", id="one"
        ),
    ],
)
def test_polls_so_far_apart_that_alerts_would_never_fire_are_refused(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(ConfigError, match="less than or equal to 240"):
        load(write(tmp_path, CLUSTER % "" + text))
