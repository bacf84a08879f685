"""Records as parameters of a command: each field is an option, and the command gets the record.

    @dataclass(frozen=True)
    class Training:
        steps: Annotated[int, typer.Option(help="Of training.")] = 1000

    @app.command()
    @with_records
    def fit(out: Path, training: Training) -> None: ...

`fit --steps 10` calls `fit(out, Training(steps=10))`. Options that belong together are thus
written once, for every command that has them.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints


def with_records(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its records in their place."""
    declared = inspect.signature(command, eval_str=True).parameters.values()
    records = {each.name: each.annotation for each in declared if _is_record(each)}

    @functools.wraps(command)
    def run(**options: Any) -> None:
        made = {name: _taken(record, options) for name, record in records.items()}
        command(**options, **made)

    flat = [option for each in declared for option in _options(each)]
    run.__annotations__ = {option.name: option.annotation for option in flat}
    vars(run)["__signature__"] = inspect.Signature(flat)
    return run


def _is_record(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The parameter, by name alone, or those that its record's fields make."""
    if not _is_record(parameter):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(parameter.annotation, include_extras=True)
    for field in fields(parameter.annotation):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=hints[field.name],
        )


def _default(field: Field) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _taken(record: type, options: dict[str, Any]) -> Any:
    """The record of its fields' options, which are then no longer among them."""
    return record(**{field.name: options.pop(field.name) for field in fields(record)})
