"""Test that classes of `swecli.values` behave as those of `dataclasses` do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import Any, ClassVar

import pytest

from swecli import values


@values.dataclass(frozen=True, slots=True)
class Point:
    """A point with a name, and marks that nobody compares."""

    kind: ClassVar[str] = "point"
    x: int
    y: int = 0
    tags: tuple[str, ...] = ()
    marks: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@values.dataclass(slots=True)
class Basket:
    items: list[str] = field(default_factory=list)
    size: int = field(default=0, init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"basket of {len(self.items)}"


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str
    parts: list[Named] = field(default_factory=list)


def test_fields_and_defaults_are_those_of_the_class() -> None:
    assert [one.name for one in fields(Point)] == ["x", "y", "tags", "marks"]
    point = Point(1, tags=("a",))
    assert (point.x, point.y, point.tags, point.marks, point.sum) == (1, 0, ("a",), [], 1)
    assert Point(1).marks is not Point(1).marks
    assert asdict(point) == {"x": 1, "y": 0, "tags": ("a",), "marks": []}
    assert replace(point, y=2) == Point(1, 2, ("a",))
    match point:
        case Point(x, y):
            assert (x, y) == (1, 0)


def test_a_frozen_value_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError):
        point.other = 2  # type: ignore[attr-defined]
    assert point.x == 1


def test_values_are_equal_by_what_is_compared_and_only_within_a_class() -> None:
    assert Point(1, marks=["a"]) == Point(1, marks=["b"])
    assert Point(1) != Point(2)
    assert Point(1) != Named(name="a")  # type: ignore[comparison-overlap]
    assert hash(Point(1, marks=["a"])) == hash(Point(1)) == hash((1, 0, ()))
    assert {Point(1), Point(1), Point(2)} == {Point(2), Point(1)}
    assert Named(name="a") == Named(name="a")


def test_a_value_that_can_change_has_no_hash() -> None:
    basket = Basket(["a"])
    assert (basket.name, basket.size) == ("basket of 1", 0)
    basket.size = 3
    assert basket != Basket(["a"])
    with pytest.raises(TypeError, match="unhashable"):
        hash(basket)


def test_a_value_is_shown_with_its_fields() -> None:
    assert repr(Point(1, tags=("a",))) == "Point(x=1, y=0, tags=('a',))"
    child = Named(name="b")
    child.parts.append(child)
    assert repr(child) == "Named(name='b', parts=[...])"


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_a_value_can_be_copied(duplicate: Callable[[Any], Any]) -> None:
    point = Point(1, 2, ("a",), ["mark"])
    copied = duplicate(point)
    assert copied == point
    assert copied.marks == ["mark"]


def test_missing_and_unknown_arguments_are_named_with_the_class() -> None:
    with pytest.raises(
        TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"
    ):
        Point()  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"Point.__init__\(\) got an unexpected keyword argument 'z'"
    ):
        Point(1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Named("a")  # type: ignore[call-arg]


def test_a_method_of_the_class_is_not_replaced() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

        __hash__ = None  # type: ignore[assignment]

    assert Own(1) == Own(2)
    assert repr(Own(1)) == "own"


@pytest.mark.parametrize("decorate", [values.dataclass, dataclasses.dataclass])
def test_a_class_can_inherit_as_another_package_declares_it(decorate: Any) -> None:
    @decorate(frozen=True, slots=True)
    class Deep(Point):
        z: int = 0

    deep: Any = Deep
    assert deep(1, 2, z=3).sum == 3
    assert deep(1) != Point(1)
    with pytest.raises(FrozenInstanceError):
        deep(1).z = 2
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        decorate(slots=True)(type("Loose", (Point,), {}))
