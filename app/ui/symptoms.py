"""The symptoms of an incident: how many it has, in numbers, in words and as lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alerting.rules.folding import as_it_was
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import SEVERITIES
from app.style.format import count, thin
from app.ui.incidents import Incident, is_before, never_fired

MOST_SYMPTOMS = 40
TOO_SHORT = "too short to alert"
"""What pages say of what was pending, and was over before it fired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymptomCount:
    """How many symptoms there are, each thing that is wrong once.

    Attributes:
        fired: The number of symptoms: those that fired, whether they go on or are over.
        now: Those of them that go on.
        pending: What is pending: it may fire yet.
        never_fired: What was pending, and was over before it fired.
    """

    fired: int = 0
    now: int = 0
    pending: int = 0
    never_fired: int = 0


def symptoms_of(one: Incident) -> list[Alert]:
    """Return what follows from a cause: not what another rule says of the cause itself."""
    return [each for each in one.symptoms if identity(each) != identity(one.cause)]


def counted(symptoms: Iterable[Alert]) -> SymptomCount:
    """Count symptoms: the one answer to how many an incident has, on all pages."""
    once = each_once(symptoms)
    fired = [one for one in once if not never_fired(one)]
    pending = sum(1 for one in once if one.state is State.PENDING)
    return SymptomCount(
        fired=len(fired),
        now=sum(1 for one in fired if one.state is State.FIRING),
        pending=pending,
        never_fired=len(once) - len(fired) - pending,
    )


def each_once(symptoms: Iterable[Alert]) -> list[Alert]:
    """Return an alert for each thing that is wrong: rules may say the same, and it may come back.

    It is one that fires, else one that fired, else one that is pending; of these the worst, and
    then the newest.
    """
    found: dict[_Identity, Alert] = {}
    for one in sorted(symptoms, key=lambda one: one.began_at):
        thing = identity(one)
        if thing not in found or _weight(one) >= _weight(found[thing]):
            found[thing] = one
    return list(found.values())


_Identity = tuple[str, frozenset[tuple[str, str]]]


def identity(one: Alert) -> _Identity:
    """Return what tells apart the things that are wrong: rules may say the same of one of them."""
    return one.check, frozenset(one.labels.items())


def _weight(one: Alert) -> tuple[int, int]:
    return _certainty(one), -SEVERITIES.index(one.severity)


def _certainty(one: Alert) -> int:
    if never_fired(one):
        return 1 if one.state is State.PENDING else 0
    return 3 if one.state is State.FIRING else 2


def symptoms_now(one: Incident) -> str:
    """Say how many symptoms go on: ``5 symptoms, 2 pending``; nothing where none does.

    Where none fires: ``2 pending``, in a line. Lists of the present have none that are over.
    """
    found = counted(symptoms_of(one))
    if not found.now and not found.pending:
        return ""
    if not found.now:
        return f"{found.pending} pending"
    pending = f", {found.pending} pending" if found.pending else ""
    return f"{count(found.now, 'symptom')}{pending}"


def symptoms_in_all(one: Incident) -> str:
    """Say how many symptoms an incident has had: ``7 symptoms, and 3 too short to alert``.

    Of one that goes on, how many do: ``7 symptoms in all, 5 of them now, and 2 pending``. Where
    none fired: ``3 symptoms, all too short to alert``. Nothing where it has had none.
    """
    symptoms = symptoms_of(one)
    found = counted(symptoms)
    if not symptoms:
        return ""
    if not found.fired:
        return _none_fired(found)
    said = [numbered(one)]
    if one.ended_at is None:
        if found.now == found.fired:
            said = [f"{said[0]} now"]
        else:
            said.append(f"{found.now or 'none'} of them now")
    before = counted(each for each in symptoms if is_before(one, each)).fired
    if before:
        said.append(f"{before} of them from before")
    beside = [(found.pending, "pending"), (found.never_fired, TOO_SHORT)]
    return _listed(said, beside)


def numbered(one: Incident) -> str:
    """Write the number of symptoms, ``in all`` where lists of the present have fewer."""
    found = counted(symptoms_of(one))
    number = count(found.fired, "symptom")
    return f"{number} in all" if one.ended_at is None and found.now < found.fired else number


def _none_fired(found: SymptomCount) -> str:
    if not found.pending:
        return _every(found.never_fired, TOO_SHORT)
    return _listed([_every(found.pending, "pending")], [(found.never_fired, TOO_SHORT)])


def _every(number: int, what: str) -> str:
    return f"{count(number, 'symptom')}, {'all ' if number > 1 else ''}{what}"


def _listed(said: Sequence[str], beside: Iterable[tuple[int, str]]) -> str:
    """Write numbers in a row, what is no symptom at its end: it is never added to their number."""
    others = [f"{number} {what}" for number, what in beside if number]
    return ", ".join([*said, *others[:-1], *(f"and {last}" for last in others[-1:])])


def lines_now(one: Incident) -> list[str]:
    """Return a line for each symptom that goes on."""
    return _lines(each for each in each_once(symptoms_of(one)) if each.state is not State.RESOLVED)


def lines_in_all(one: Incident) -> list[str]:
    """Return a line for each symptom that there was."""
    return _lines(each_once(symptoms_of(one)))


def _lines(symptoms: Iterable[Alert]) -> list[str]:
    """Write symptoms by what they were: several of one group may be mended alike."""
    return limited(
        [
            thin(f"{as_it_was(each).what}: {each.detail}")
            + (
                " (pending)"
                if each.state is State.PENDING
                else f" ({TOO_SHORT})"
                if never_fired(each)
                else ""
            )
            for each in symptoms
        ]
    )


def limited(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    if len(lines) <= MOST_SYMPTOMS:
        return list(lines)
    return [*lines[:MOST_SYMPTOMS], f"and {len(lines) - MOST_SYMPTOMS} more"]
