"""The style sheet of the page."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4; --band: #f5f7f9; --none: #e6eaee;
}
@media (prefers-color-scheme: dark) {
  :root { --page: #12161b; --text: #e3e8ee; --soft: #98a3af; --line: #2d343c; --band: #1a2027; --none: #2a313a; }
}
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px; }
header p, section > p, footer, dd b { color: var(--soft); }
h1 { font-size: 28px; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
header p { margin: 8px 0 0; }
h2 { font-size: 19px; margin: 44px 0 8px; }
section { overflow-x: auto; }
section > p { margin: 0 0 14px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 16px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); border-bottom-width: 2px; }
th:first-child, td:first-child { text-align: left; padding-left: 8px; }
tbody tr:hover { background: var(--band); }
.side { display: flex; flex-wrap: wrap; gap: 32px 56px; align-items: flex-start; }
.legend { display: flex; align-items: center; gap: 8px; font-size: 13px; color: var(--soft); margin-bottom: 10px; }
.legend i { width: 180px; height: 12px; border-radius: 2px; }
.legend i.none { width: 24px; margin-left: 20px; background: var(--none); }
.icicle { display: block; width: 100%; height: auto; font-family: system-ui, "Segoe UI", sans-serif; }
.icicle text { pointer-events: none; }
.icicle .none { fill: var(--none); }
.icicle .faint { fill: var(--soft); }
.icicle g:hover rect { stroke: var(--text); stroke-width: 1.5; }
dl { margin: 0; }
dt { font-weight: 600; margin-top: 14px; }
dd { margin: 2px 0 0; }
dd b { font-weight: 400; padding: 0 2px; }
code { font: 13px ui-monospace, "Cascadia Mono", monospace; }
code { background: var(--band); padding: 1px 6px; border-radius: 4px; }
footer { margin-top: 56px; font-size: 13px; }
@media print { main { max-width: none; } }
"""
