"""Where the rows lie: target, pool and labels on their first two principal components."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.report.charts import INK, PURPLE, SKY, VERMILION, chart, figure
from labelwise.report.markup import Markup
from labelwise.report.numbers import count, percent, plural
from labelwise.report.snapshot import Facts
from labelwise.tables.shift import sample_rows

MOST_POINTS = 2000  # of a table that are drawn
FEW = 300  # points up to which each is a shape of its own
SMALLEST = 26  # size of a mark where there is room
SIZE = (6.4, 5.8)
EDGE = {"edgecolors": "white", "linewidths": 0.8}
POOL = {"c": "#b9c2cc", "marker": "o", "s": 14, "alpha": 0.75, "linewidths": 0}
# Every kind has a marker of its own, so that colour alone never tells them apart.
STYLES: dict[str, dict[str, Any]] = {
    "pool": POOL,
    "pool, which is the target": POOL,
    "target": {"c": SKY, "marker": "+", "s": 30, "linewidths": 1.1},
    "labelled from the start": {"c": INK, "marker": "s", "s": 30, **EDGE},
    "bought": {"c": VERMILION, "marker": "o", "s": 56, **EDGE},
    "out to be labelled": {"c": PURPLE, "marker": "D", "s": 56, **EDGE},
}


@dataclass(frozen=True)
class Layer:
    """Points of one kind."""

    name: str
    points: np.ndarray  # rows × 2
    style: dict[str, Any]

    @property
    def as_pixels(self) -> bool:
        """Many points as curves would make the file huge."""
        return len(self.points) > FEW


@dataclass(frozen=True)
class Plane:
    """The two directions along which target and pool vary most."""

    centre: np.ndarray
    directions: np.ndarray  # features × 2
    shares: tuple[float, float]  # of the variance

    def project(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.centre) @ self.directions


def find_plane(rows: np.ndarray) -> Plane:
    """Find principal components by the singular values of the rows' covariance."""
    centre = rows.mean(axis=0)
    covariance = (rows - centre).T @ (rows - centre)
    directions, variances, _ = np.linalg.svd(covariance)
    # Components have no sign of their own: the largest loading is positive.
    largest = np.argmax(np.abs(directions), axis=0)
    directions = directions * np.sign(directions[largest, np.arange(len(largest))])
    shares = np.append(variances / max(variances.sum(), 1e-300), 0.0)
    if directions.shape[1] == 1:
        directions = np.pad(directions, ((0, 0), (0, 1)))
    return Plane(centre, directions[:, :2], (float(shares[0]), float(shares[1])))


def find_layers(facts: Facts, plane: Plane) -> list[Layer]:
    """Order the points from the back to the front; kinds without points are left out."""
    arrays, same = facts.analysis.arrays, facts.spec.target == "pool"
    rng = np.random.default_rng([facts.spec.seed, 3])
    some = lambda rows: sample_rows(rng, rows, MOST_POINTS)
    rows = {
        "pool, which is the target" if same else "pool": some(arrays.pool),
        "target": arrays.target[:0] if same else some(arrays.target),
        "labelled from the start": some(arrays.labelled),
        "bought": arrays.pool[np.array(facts.bought_in_order, int)],
        "out to be labelled": arrays.pool[np.array(facts.state.pending_in_order(), int)],
    }
    return [
        Layer(name, plane.project(kind), STYLES[name])
        for name, kind in rows.items()
        if len(kind)
    ]


def rows_map(facts: Facts) -> Markup:
    """Draw where the rows lie."""
    arrays = facts.analysis.arrays
    both = [arrays.pool] if facts.spec.target == "pool" else [arrays.target, arrays.pool]
    plane = find_plane(np.concatenate(both))
    layers = find_layers(facts, plane)
    draw = lambda axes: _draw(axes, layers, plane)
    caption = (
        "Principal components of the encoded features of target and pool; in brackets the "
        "share of their variance that each shows. Rows that lie together here may still "
        f"differ in other features. At most {count(MOST_POINTS)} points of a table are drawn."
    )
    image = chart(draw, _alt(facts, plane), SIZE)
    return figure("First two principal components", image, caption)


def _draw(axes: Any, layers: list[Layer], plane: Plane) -> None:
    for depth, layer in enumerate(layers, 2):
        style = {"rasterized": layer.as_pixels, "zorder": depth, **layer.style}
        style["s"] = style["s"] if layer.as_pixels else max(style["s"], SMALLEST)
        axes.scatter(*layer.points.T, label=layer.name, **style)
    first, second = plane.shares
    axes.set(
        xlabel=f"component 1 ({percent(first)})", ylabel=f"component 2 ({percent(second)})"
    )
    axes.grid(False)
    place = {"loc": "outside lower center", "ncols": 2, "columnspacing": 1.2}
    axes.figure.legend(markerscale=1.3, **place)


def _alt(facts: Facts, plane: Plane) -> str:
    rows, state = facts.rows, facts.state
    target = "" if facts.spec.target == "pool" else f"{plural(rows['target'], 'target row')}, "
    return (
        f"Scatter of {target}{plural(rows['pool'], 'pool row')}, "
        f"{plural(rows['labelled'], 'initial label')}, "
        f"{plural(len(state.labels), 'bought label')} and "
        f"{plural(len(state.pending), 'pending row')} on two principal components, which show "
        f"{percent(plane.shares[0])} and {percent(plane.shares[1])} of the variance."
    )
