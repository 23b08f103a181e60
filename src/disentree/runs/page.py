"""The frame of a report: a page that loads nothing, in light and in dark."""

STYLE = """
:root { color-scheme: light dark; --fg: #1d2731; --dim: #66727d; --bg: #ffffff; --card: #f4f6f8; --line: #dde3e8;
  --blue: #1b6ca8; --warm: #b4532d; }
@media (prefers-color-scheme: dark) { :root { --fg: #e4e9ed; --dim: #98a4ae; --bg: #14191e; --card: #1e252c;
  --line: #333d46; --blue: #7fb9e6; --warm: #e6a07f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 72rem; background: var(--bg); color: var(--fg);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; overflow-wrap: anywhere; } h2 { margin: 2.6rem 0 .6rem; font-size: 1.25rem; }
h3 { margin: 1rem 0 .3rem; font-size: 1rem; } header p, .dim, figcaption { color: var(--dim); }
header p { margin: .2rem 0 1.2rem; } figcaption { margin-top: .4rem; font-size: .9rem; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; }
.cards div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem; }
.cards span { display: block; color: var(--dim); font-size: .85rem; } .cards b { font-size: 1.4rem; }
figure { margin: 0 0 1rem; } figure img { max-width: 100%; background: #fff; border: 1px solid var(--line);
  border-radius: 8px; padding: 6px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .6rem 0 1rem; font-size: .93rem; }
th, td { text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--dim); font-weight: 500; } .n { text-align: right; font-variant-numeric: tabular-nums; }
td, th { overflow-wrap: anywhere; }
.trees { display: flex; flex-wrap: wrap; gap: 1rem; } .tree { flex: 1 1 20rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; padding: .2rem 1rem .8rem; overflow-x: auto; }
.tree ul { list-style: none; margin: 0; padding-left: 1.3rem; } .tree > ul { padding-left: 0; }
.tree ul ul { border-left: 1px solid var(--line); } .tree b { font-weight: 600; }
.num::before { content: "○ "; color: var(--blue); } .cat::before { content: "◇ "; color: var(--warm); }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere; } summary { cursor: pointer; color: var(--dim); }
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
