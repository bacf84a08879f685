"""An encoder whose statistics are those of every row of a pool, not of a sample of it."""

from dataclasses import replace

import numpy as np

from labelwise.pools.tally import Numbers, Tally
from labelwise.tables.encoder import LEVELS, OTHER, Coding, Encoder


def over_whole(encoder: Encoder, tally: Tally | None) -> Encoder:
    """Means, scales, medians and levels as all rows have them; the kinds of columns stay.

    Where components stand for very many features, they are the sample's.
    """
    if tally is None or encoder.wide is not None:
        return encoder
    return replace(encoder, codings=tuple(_coding(one, tally) for one in encoder.codings))


def _coding(coding: Coding, tally: Tally) -> Coding:
    numbers, levels = tally.numbers.get(coding.column), tally.levels.get(coding.column)
    if coding.kind == "numeric" and numbers is not None and numbers.count:
        return _number_coding(coding, numbers)
    if coding.kind == "categorical" and levels is not None:
        return replace(coding, levels=_levels(dict(levels), coding))
    return coding


def _number_coding(coding: Coding, numbers: Numbers) -> Coding:
    """Missing numbers count as the median, as they do when they are coded."""
    fill, known, gaps = numbers.quantile(0.5), numbers.count, numbers.missing
    centre = (numbers.mean * known + fill * gaps) / (known + gaps)
    square = numbers.square + known * (numbers.mean - centre) ** 2 + gaps * (fill - centre) ** 2
    scale = float(np.sqrt(square / (known + gaps)))
    return replace(
        coding,
        fill=fill,
        centre=centre,
        scale=scale if scale > 0.0 else 1.0,
        missing=coding.missing or gaps > 0,
    )


def _levels(counts: dict[str, int], coding: Coding) -> tuple[str, ...]:
    """The commonest; a level of labelled rows that the pool has not stays if there is room."""
    for level in coding.levels:
        if level != OTHER:
            counts.setdefault(level, 0)
    if len(counts) <= LEVELS:
        return tuple(sorted(counts)[len(counts) == 2 :])
    ranked = sorted(counts, key=lambda level: (-counts[level], level))
    return (*sorted(level for level in ranked[:LEVELS] if level != OTHER), OTHER)
