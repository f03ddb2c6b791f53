"""Mends the pages of both documentation sites. A hook of MkDocs (mkdocs.yml)."""

from __future__ import annotations

import re
from typing import Any

EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th[^>]*></th>\s*)+</tr>\s*</thead>")
EMPTY_CELL = re.compile(r"<th([^>]*)></th>")
DIALOG = 'role="dialog"'
INNER_MENU = re.compile(r'(<nav class="md-nav" data-md-level="2") aria-labelledby="\w+"')


def on_page_content(html: str, **_: Any) -> str:
    return EMPTY_CELL.sub(r"<td\1></td>", EMPTY_HEAD.sub("", html))


def on_post_page(output: str, **_: Any) -> str:
    """Name what the theme leaves without a name of its own for screen readers."""
    output = output.replace(DIALOG, f'{DIALOG} aria-label="Search"')
    return INNER_MENU.sub(r'\1 aria-label="Pages of this part"', output)
