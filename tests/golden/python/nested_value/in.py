import collections, dataclasses, datetime, decimal, enum


@dataclasses.dataclass
class Order:
    name: str
    lines: list
    total: decimal.Decimal


class Color(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")
{
    "order": Order("first", [("apple", 2)], decimal.Decimal("1.50")),
    "when": datetime.date(2024, 2, 29),
    "color": Color.RED,
    "point": Point(1, 2),
    "function": len,
    "class": Order,
    "module": enum,
    "complex": 1 + 2j,
    "many": {1: {2: {3: {4: 5}}}},
}
