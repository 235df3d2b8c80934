"""What an audit says, as the rows of a table, as sentences and as a page that needs no other file. Internal."""

from __future__ import annotations

import base64
import io
import math
from html import escape

from PIL.Image import Image

from benchmark_data.dataset import Dataset
from benchmark_data.inspect import contact_sheets
from benchmark_data.inspect.audit import Audit, Estimate, FactorAudit, relative

HEADINGS = ("learnt", "factor", "values", "distance", "ratio", "above", "correlation", "overlap", "equal")

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5c6675; --line: #dfe3e9; --paper: #fff; --card: #f7f8fa;
  --mark: #21918c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf0; --soft: #a4adba; --line: #343b46; --paper: #14181e;
  --card: #1c2129; --mark: #35b5ab; } }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 4rem; font: 16px/1.55 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; } h3 { font-size: 1rem; margin: 0; }
p { max-width: 46rem; } .soft { color: var(--soft); }
.number { font-size: 3.25rem; font-weight: 650; line-height: 1.1; font-variant-numeric: tabular-nums; }
.scale { position: relative; height: .6rem; border-radius: .3rem; background: var(--line); max-width: 34rem; }
.scale div { position: absolute; height: 100%; border-radius: .3rem; background: var(--mark); }
.ends { display: flex; justify-content: space-between; max-width: 34rem; font-size: .85rem; color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; }
.card img { width: 8rem; height: 8rem; image-rendering: pixelated; display: block; margin: .6rem 0; }
.card p { margin: .2rem 0; font-size: .85rem; } .sheet { max-width: 100%; background: #fff; }
"""


def table(found: Audit) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Write an audit as a table.

    Args:
        found: what `benchmark_data.inspect.audit.audit` gave.

    Returns:
        The headings, and a row for each factor in the order in which a VAE is expected to learn them.
    """
    places = {name: str(place) for place, group in enumerate(found.order(), 1) for name in group}
    ranked = sorted(found.factors, key=lambda one: -one.importance.value if one.traversals else math.inf)
    return HEADINGS, [
        (
            places.get(one.factor.name, "-"),
            one.factor.name,
            str(one.factor.size),
            _written(one.importance.value, 4),
            _written(relative(one, found), 2),
            _written(one.above_random.value, 2),
            _interval(one.correlation),
            _written(one.overlap.value, 2),
            _written(one.equal.value, 3),
        )
        for one in ranked
    ]


def summary(found: Audit) -> list[str]:
    """Write an audit's numbers on the whole dataset as sentences.

    Args:
        found: what `benchmark_data.inspect.audit.audit` gave.

    Returns:
        One or more sentences.
    """
    order = ", then ".join(" = ".join(group) for group in found.order())
    whole = found.sample == found.images
    lines = [
        f"giveaway: {_interval(found.giveaway)}",
        f"expected to be learnt: {order or 'nothing is known of the order'}",
        f"random pairs: mean distance {_interval(found.random, 4)}",
        f"collisions: {found.collisions:,} of {found.sample:,} images equal one with other labels"
        + (" (the whole dataset)" if whole else f" (a sample of {found.images:,})"),
    ]
    unseen = [one.factor.name for one in found.factors if not one.traversals]
    if unseen:
        lines.append(f"not measured, since no two images differ in it alone: {', '.join(unseen)}")
    unordered = [
        one.factor.name for one in found.factors if one.traversals and one.factor.kind not in ("ordinal", "cyclic")
    ]
    if unordered:
        lines.append(f"no correlation and no overlap, since their values have no order: {', '.join(unordered)}")
    if few := [f"{one.factor.name} {one.few}" for one in found.factors if one.few]:
        lines.append(
            "few images in a row, so that the giveaway and its interval say little of others of their kind: traversals "
            f"with an order: {', '.join(few)}; more images, or a grid of values"
        )
    if math.isnan(found.giveaway.value):
        measured = [one.factor for one in found.factors if one.traversals]
        ordered = [factor.name for factor in measured if factor.size > 2 and factor.kind in ("ordinal", "cyclic")]
        lines.append(
            "no giveaway, since the order of values takes images at two distances along one factor, such as three in a "
            f"row, and there are none in {', '.join(ordered)}: more images, or more values"
            if ordered
            else "no giveaway, since no factor that was measured has an order"
        )
    return lines


def page(dataset: Dataset, found: Audit) -> str:
    """Write an audit as a page of HTML, in which all pictures are held.

    Args:
        dataset: the dataset.
        found: what `benchmark_data.inspect.audit.audit` gave for it.

    Returns:
        The page, a text that holds no link to another file.
    """
    headings, rows = table(found)
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    cards = "".join(_card(one) for one in found.factors if one.traversals)
    facts = "".join(f"<p>{escape(line[0].upper() + line[1:])}.</p>" for line in summary(found)[1:])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit of {escape(found.dataset)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(found.dataset)}</h1>
<p class="soft">{found.images:,} images, version {escape(found.version)}, {len(dataset.space.factors)} factors</p>
<h2>How much of its factors it gives away</h2>
{_giveaway(found.giveaway)}
{facts}
<h2>Factors</h2>
<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>
<h2>Distances along each factor</h2>
<p class="soft">The mean squared error between all values, dark for near.</p>
<div class="cards">{cards}</div>
<h2>Images</h2>
<img class="sheet" alt="Random images, and a traversal of each factor" src="{_inline(contact_sheets.sheet(dataset))}">
<h2>How it was measured</h2>
<p class="soft">A distance is the mean squared error of pixels in [0, 1]. <b>distance</b> is its mean between images
that differ in this factor alone, <b>ratio</b> that as a share of the mean between random images, and <b>above</b> how
often such a pair is farther apart than a random one. Factors with greater distances are expected to be <b>learnt</b>
first (Michlo et al. 2023, arXiv 2202.13341). <b>correlation</b> is Spearman's, of distance in pixels and of class ids,
within traversals. <b>overlap</b> is how much nearer neighbouring values are than others, and <b>equal</b> the
share of pairs whose images are equal. The <b>giveaway</b> is the mean correlation weighted by distance. In brackets:
95% bootstrap intervals over {max(one.traversals for one in found.factors)} traversals or fewer of each factor, drawn
with seed {found.seed}.</p>
</body>
</html>
"""


def _giveaway(found: Estimate) -> str:
    """Draw the giveaway as a number on a scale."""
    if math.isnan(found.value):
        return '<p class="number">none</p>'
    return f"""<div class="number">{_written(found.value, 2)}</div>
<p class="soft">95% interval {_written(found.low, 3)} to {_written(found.high, 3)}</p>
<div class="scale"><div style="width:{100 * min(found.value, 1):.2f}%"></div></div>
<div class="ends"><span>0: pixels tell nothing of the order of values</span><span>1: they tell all of it</span></div>"""


def _card(one: FactorAudit) -> str:
    """Show one factor's matrix."""
    name = escape(one.factor.name)
    told = "no order" if math.isnan(one.correlation.value) else f"correlation {_interval(one.correlation)}"
    return f"""<div class="card"><h3>{name}</h3>
<p class="soft">{one.factor.size} values, {escape(one.factor.kind)}; {told}</p>
<img alt="Distances between the values of {name}" src="{_inline(contact_sheets.heatmap(one.matrix))}"></div>
"""


def _inline(picture: Image) -> str:
    """Write a picture as a data address."""
    stream = io.BytesIO()
    picture.save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def _written(value: float, digits: int) -> str:
    """Write a number; "-" where there is none."""
    return "-" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _interval(found: Estimate, digits: int = 2) -> str:
    """Write an estimate with its interval."""
    if math.isnan(found.value):
        return "-"
    return f"{_written(found.value, digits)} [{_written(found.low, digits)}, {_written(found.high, digits)}]"
