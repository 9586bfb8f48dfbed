"""How a page looks: on paper, on a phone, by day and by night; nothing is fetched for it."""

from headstart.reports.figures.palette import COLOURS

# Text on paper has at least 4.5 to 1 everywhere, as has what is soft on what is tinted.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#555e69",
    "line": "#d5dae0",
    "tint": "#f4f6f8",
    "link": "#1f5fae",
}
DARK = {
    "paper": "#14171c",
    "ink": "#e7e9ec",
    "soft": "#a9b1bb",
    "line": "#3a414b",
    "tint": "#1e232a",
    "link": "#7db4f5",
}


def variables(*, is_dark: bool) -> str:
    """Returns the colours of the page and of its figures as CSS variables."""
    page = DARK if is_dark else LIGHT
    drawn = {name: colour.dark if is_dark else colour.light for name, colour in COLOURS.items()}
    return "".join(f"--{name}:{value};" for name, value in {**page, **drawn}.items())


RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 var(--sans);
overflow-wrap:break-word}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1.1rem 4rem}
h1{font-size:1.05rem;font-weight:600;color:var(--soft);margin:0 0 1.2rem}
h2{font-size:1.3rem;line-height:1.3;margin:3rem 0 .8rem;padding-top:1.2rem;
border-top:1px solid var(--line)}
h3{font-size:1.02rem;margin:1.6rem 0 .4rem}
p{margin:.6rem 0;max-width:44rem}
a{color:var(--link)}
ul{padding-left:1.2rem;max-width:44rem}
code,pre{font-family:var(--mono);font-size:.86em}
pre{background:var(--tint);padding:.8rem 1rem;border-radius:.4rem;white-space:pre-wrap;
overflow-wrap:anywhere}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;padding:0;margin:1.6rem 0 0;
max-width:none;font-size:.92rem}
.verdict{font-size:2.5rem;line-height:1.15;font-weight:700;
letter-spacing:-.015em;margin:0 0 1rem;max-width:46rem}
.lead{font-size:1.12rem}
.soft,.note,figcaption,footer{color:var(--soft)}
.note,figcaption,footer{font-size:.88rem}
.note{margin:.35rem 0}
.scroll{overflow-x:auto;margin:1rem 0 .4rem}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:0 0 .4rem}
th,td{padding:.38rem .9rem .38rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
thead th{border-bottom:2px solid var(--line);font-weight:600;color:var(--soft);
vertical-align:bottom}
tbody th{font-weight:500;min-width:6.5rem}
.number{text-align:right;white-space:nowrap}
.panels{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem}
.panels>*{flex:0 1 29rem;max-width:100%}
figure{margin:1rem 0 1.4rem;overflow-x:auto}
figure svg{display:block;width:100%;height:auto}
blockquote{margin:.9rem 0;padding:.1rem 0 .1rem .9rem;border-left:3px solid var(--line)}
blockquote p{margin:.25rem 0}
details{margin:.8rem 0}
summary{cursor:pointer}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;font-size:.95rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.numbers{display:flex;flex-wrap:wrap;gap:1.1rem 1.4rem;margin:.8rem 0 1.2rem}
.numbers>*{flex:0 1 9.4rem}
.numbers .share{font-size:1.75rem;font-weight:700;line-height:1.25;
font-variant-numeric:tabular-nums}
.numbers .soft{font-size:.85rem;line-height:1.35;overflow-wrap:break-word}
.numbers dt{font-weight:600}
.numbers dt,.numbers .share{color:inherit}
.warning{background:var(--tint);border-left:3px solid var(--ochre);padding:.5rem .9rem}
footer{margin-top:3rem}
@media (max-width:34rem){dl:not(.numbers){grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
main{padding:1rem .9rem 3rem}.verdict{font-size:1.8rem}}
@media print{@page{margin:1.6cm}html{font-size:10pt}.panels>*{flex-basis:8cm}
main{max-width:none;padding:0}nav{display:none}
h2{break-after:avoid;margin-top:1.6rem}figure,tr,blockquote{break-inside:avoid}
.scroll,figure{overflow:visible}figure svg{min-width:0!important}table{font-size:8.5pt}
.number{white-space:normal}}
"""

FONTS = (
    '--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;'
    '--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;'
)
# Whatever belongs to something that is drawn may have its colour.
TINTS = "".join(f".in-{name}{{color:var(--{name})}}" for name in COLOURS)
# Paper is white: what is dark on a screen is printed as by day.
STYLE = (
    f":root{{{FONTS}{variables(is_dark=False)}color-scheme:light}}"
    "@media screen and (prefers-color-scheme:dark)"
    f"{{:root{{{variables(is_dark=True)}color-scheme:dark}}}}"
    f"{TINTS}{RULES}"
)
