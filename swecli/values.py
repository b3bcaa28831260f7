"""Dataclasses whose methods are shared: a class is made in a fourth of the time that `dataclasses` takes.

`dataclasses` compiles up to six methods for each class. The first text of a run without a screen waits for some 190
classes: that was a fourth of its processor time. Here only `__init__` is compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields, is_dataclass
from dataclasses import dataclass as _plain
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a type checker sees the decorator that it knows
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        kw_only: bool = False,
    ) -> Any:
        """Make a dataclass, as `dataclasses.dataclass` does; also `fields`, `replace` and `asdict` take it."""

        def make(original: type) -> type:
            if any(is_dataclass(base) for base in original.__mro__[1:]):
                return _plain(frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)(original)
            return _make(original, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)

        return make if cls is None else make(cls)


def _make(original: type, *, frozen: bool, slots: bool, eq: bool, kw_only: bool) -> Any:
    own_names = {name for name, value in vars(original).items() if value is not None}
    if original.__doc__ is None:
        original.__doc__ = original.__name__  # else the signature would be rendered for it
    generated: Any = _plain(
        original, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
    )
    generated.__dataclass_params__.frozen = frozen  # a frozen class may only inherit from such ones
    methods: dict[str, Any] = {
        "__init__": _compile_init(generated, frozen=frozen),
        "__repr__": _repr,
    }
    if eq:
        methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if frozen and slots:
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, method in methods.items():
        if name not in own_names:
            setattr(generated, name, method)
    return generated


def _compile_init(cls: type, *, frozen: bool) -> Callable[..., None]:
    """Compile the method that sets the fields; in a frozen class past its own refusal."""
    names: dict[str, Any] = {"__set": object.__setattr__, "__missing": MISSING}
    positional = ["self"]
    keywords: list[str] = []
    lines: list[str] = []
    for field in fields(cls):
        parameter, value = _write_field(field, names)
        if field.init:
            (keywords if field.kw_only else positional).append(parameter)
        elif not value:
            continue  # `__post_init__` sets it
        name = field.name
        lines.append(f"__set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    if keywords:
        positional.append("*")
    parameters = ", ".join([*positional, *keywords])
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({parameters}):\n {body}", names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    return init


def _write_field(field: Field[Any], names: dict[str, Any]) -> tuple[str, str]:
    """Return a field's parameter and the expression of its value, "" if it gets none, as code; what that refers to is
    added to `names`."""
    name = field.name
    if field.default is not MISSING:
        names[f"__default_{name}"] = field.default
        return f"{name}=__default_{name}", name if field.init else f"__default_{name}"
    if field.default_factory is not MISSING:
        names[f"__make_{name}"] = field.default_factory
        new = f"__make_{name}()"
        return (
            f"{name}=__missing",
            f"{new} if {name} is __missing else {name}" if field.init else new,
        )
    return name, name if field.init else ""


@cache
def _compared(cls: Any) -> Callable[[object], tuple[Any, ...]]:
    """Return a function from an object to what is compared of it."""
    names = [field.name for field in fields(cls) if field.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _eq(self: Any, other: object) -> Any:
    cls: Any = self.__class__
    values_of = _compared(cls)
    if other.__class__ is not cls:
        return NotImplemented
    return values_of(self) == values_of(other)


def _hash(self: Any) -> int:
    cls: Any = self.__class__
    return hash(_compared(cls)(self))


@recursive_repr()
def _repr(self: Any) -> str:
    field_texts = [
        f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr
    ]
    return f"{self.__class__.__qualname__}({', '.join(field_texts)})"


def _refuse_to_set(_: object, name: str, __: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    """Return the values of the fields, which a copy gets."""
    return [getattr(self, field.name) for field in fields(self)]


def _setstate(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
