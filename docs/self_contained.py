"""A hook of mkdocs: a page that loads anything from another host fails a strict build."""

import logging
import re
from typing import Any

LOG = logging.getLogger("mkdocs.hooks.self_contained")
LOADED = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="((?:https?:)?//[^"]+)'
    r'|<link\b[^>]*rel="(?:stylesheet|preload|preconnect|icon)"[^>]*href="((?:https?:)?//[^"]+)'
    r'|<link\b[^>]*href="((?:https?:)?//[^"]+)"[^>]*rel="(?:stylesheet|preload|preconnect|icon)'
)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    for match in LOADED.finditer(output):
        LOG.warning("%s loads %s", page.file.src_uri, next(filter(None, match.groups())))
    return output
