"""The loop of Algorithm 1: ask, reveal, tell, again and again."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from labelwise.evaluation.evaluation import Evaluation

Player = TypeVar("Player", bound="AbstractPlayer")


class AbstractPlayer(Protocol):
    """A value that asks for rows, and that labels turn into the next one."""

    def ask(self, n: int) -> Any:
        """The next round."""
        ...

    def tell(self: Player, round_: Any, labels: Any) -> Player:
        """What is known once these labels have come."""
        ...


def play(
    player: Player, reveal: Callable[[Any], Any], sizes: Iterable[int]
) -> Iterator[tuple[Player, Any]]:
    """The player before the first round and after each, with the round that led there."""
    return _play(player, lambda player, size: player.ask(size), reveal, sizes)


def play_evaluation(
    start: Evaluation, reveal: Callable[[Any], Any], sizes: Iterable[int]
) -> Iterator[tuple[Evaluation, Any]]:
    """The same of a campaign, whose batches nobody weighs beside random rows."""
    return _play(start, lambda now, size: now.ask(size, weigh=False), reveal, sizes)


def _play(player: Any, ask: Callable[[Any, int], Any], reveal, sizes):
    yield player, None
    for size in sizes:
        round_ = ask(player, size)
        player = player.tell(round_, reveal(round_))
        yield player, round_
