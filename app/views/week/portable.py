"""A week as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from app.data.context import View
from app.style.format import zone_name
from app.ui import tables
from app.views.week.view_model import Part

_CSS = """body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;
padding:.3rem .6rem;border-bottom:1px solid #8886}@media(prefers-color-scheme:dark){
body{background:#111418;color:#e6e8eb}}"""


def html(title: str, sentence: str, parts: Sequence[Part], view: View) -> str:
    """Return the report as a page of its own, to be sent or kept; it loads nothing."""
    times = f"Clock times are of {zone_name(view.zone, view.now)}."
    body = [f"<h1>{escape(title)}</h1><p>{escape(sentence)} {escape(times)}</p>"]
    for part in parts:
        body.append(f"<h2>{escape(part.title)}</h2>")
        if part.rows.is_empty():
            body.append(f"<p>{escape(part.nothing)}</p>")
            continue
        heads = "".join(
            f'<th scope="col">{escape(one.label)}</th>' for one in part.columns.values()
        )
        lines = "".join(
            f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>"
            for row in tables.texts(part.rows, part.columns, view)
        )
        body.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>")
        if part.note:
            body.append(f"<p>{escape(part.note)}</p>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_CSS}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )
