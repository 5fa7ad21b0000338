"""What axe finds on a page, as a test asks it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from playwright.sync_api import Page

from tests.support import unavailable

STREAMLITS_OWN = {
    "list": "[data-testid=stSidebarNavItems]",
    "listitem": "[data-testid=stSidebarNavItems]",
}
"""Findings that are Streamlit's own, by rule: where. docs/dashboard-measurements.md names them."""

_FIND = """async (own) => {
    const found = await axe.run(document, {resultTypes: ['violations']});
    const ours = (rule, node) => {
        const where = own[rule] && typeof node.target[0] === 'string';
        return !(where && document.querySelector(node.target[0])?.closest(own[rule]));
    };
    return found.violations
        .filter((one) => ['serious', 'critical'].includes(one.impact))
        .flatMap((one) => one.nodes.filter((node) => ours(one.id, node)).map(
            (node) => `${one.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`));
}"""


@cache
def _axe() -> str:
    try:
        return (files("axe_playwright_python") / "axe.min.js").read_text()
    except ModuleNotFoundError:
        unavailable("axe-playwright-python is not installed")


def findings(page: Page) -> list[str]:
    """Return what is serious or critical and not Streamlit's own."""
    page.evaluate(_axe())
    found: list[str] = page.evaluate(_FIND, STREAMLITS_OWN)
    return found
