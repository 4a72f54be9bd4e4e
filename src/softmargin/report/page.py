"""The page around the sections: style, light and dark, and a policy that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable

from softmargin.report.html import text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root { color-scheme: light dark; --paper: #f6f7f9; --card: #fff; --ink: #1f2933; --soft: #5f6c7b;
  --line: #dfe3e8; --good: #1d7a4c; --warn: #b45309; --blue: 43, 108, 176;
  --orange: #dd7a1f; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --card: #1c2229; --ink: #e4e8ee; --soft: #9aa7b5; --line: #323b45;
    --good: #5cc48d; --warn: #f0a24b; --blue: 88, 150, 215;
    --orange: #e8924a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.08rem; margin: 0 0 .7rem; }
h3 { font-size: .95rem; margin: 1.2rem 0 .4rem; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.1rem 1.3rem 1.2rem; margin: 1rem 0; }
.verdict { font-size: 1.05rem; margin: 0 0 .8rem; font-weight: 600; }
.good { color: var(--good); } .warn { color: var(--warn); }
.note, figcaption, .under { color: var(--soft); font-size: .9rem; margin: .3rem 0 .6rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem 2rem; margin: 0 0 .9rem; }
.tiles div { min-width: 6rem; } .tiles b { display: block; font-size: 1.35rem; font-weight: 600; }
.tiles span { color: var(--soft); font-size: .85rem; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.facts { width: 100%; } .facts th { width: 11rem; font-weight: normal; color: var(--soft); }
th, td { text-align: left; padding: .22rem .7rem .22rem 0; vertical-align: top; }
.facts tr + tr { border-top: 1px solid var(--line); } td { overflow-wrap: anywhere; }
.numbers td, .numbers th + th { text-align: right; padding: .2rem .8rem; white-space: nowrap; }
.numbers thead th { color: var(--soft); font-weight: normal;
  border-bottom: 1px solid var(--line); }
.numbers tbody th { font-weight: 600; white-space: nowrap; }
.confusion td { text-align: center; min-width: 2.6rem; padding: .3rem .4rem;
  border: 1px solid var(--card); }
.confusion thead th { text-align: center; color: var(--soft); font-weight: normal;
  padding: .2rem .4rem; }
.confusion tbody th { text-align: right; padding: .3rem .7rem .3rem 0; white-space: nowrap; }
.confusion .zero { color: var(--soft); opacity: .55; }
figure { margin: 0; } figure svg { width: 100%; height: auto; max-width: 40rem; display: block; }
figure svg text { font-family: inherit; }
footer { color: var(--soft); font-size: .85rem; margin-top: 1.5rem; }
@media (max-width: 34rem) { section { padding: .9rem .8rem; } .facts th { width: 8rem; } }
@media print { body { background: none; } section { break-inside: avoid; border: none; } }
"""


def page(title: str, sections: Iterable[str]) -> str:
    body = "\n".join(section for section in sections if section)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{text(title)}</title>
<style>{STYLE}</style>
</head>
<body><main>
<h1>{text(title)}</h1>
{body}
</main></body>
</html>
"""
