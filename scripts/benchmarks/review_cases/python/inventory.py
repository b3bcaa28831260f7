"""Stock of a shop: batches with prices and dates."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

LOW_STOCK = 5


@dataclass(frozen=True)
class Batch:
    """Some pieces of one article, bought together."""

    article: str
    pieces: int
    price: Decimal
    expires: date | None = None


@dataclass
class Inventory:
    """All batches, the oldest first."""

    batches: list[Batch] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        if batch.pieces <= 0:
            raise ValueError(f"a batch needs pieces, not {batch.pieces}")
        self.batches.append(batch)

    def count(self, article: str) -> int:
        return sum(batch.pieces for batch in self.batches if batch.article == article)

    def is_low(self, article: str) -> bool:
        """Return True if at most LOW_STOCK pieces are left."""
        return self.count(article) <= LOW_STOCK

    def take(self, article: str, pieces: int) -> list[Batch]:
        """Remove pieces from the oldest batches and return them. Raises LookupError if there are not enough."""
        if pieces > self.count(article):
            raise LookupError(f"only {self.count(article)} pieces of {article} are left")
        taken: list[Batch] = []
        kept: list[Batch] = []
        for batch in self.batches:
            part = min(batch.pieces, pieces) if batch.article == article else 0
            if part > 0:
                taken.append(Batch(article, part, batch.price, batch.expires))
                pieces -= part
            if part < batch.pieces:
                kept.append(Batch(batch.article, batch.pieces - part, batch.price, batch.expires))
        self.batches = kept
        return taken

    def expired(self, today: date, days: int = 0) -> list[Batch]:
        """Return the batches that expire within `days` days."""
        limit = today + timedelta(days=days)
        return [batch for batch in self.batches if batch.expires is not None and batch.expires <= limit]

    def average_price(self, article: str) -> Decimal:
        """Return the average price of a piece, 0 if there are none."""
        pieces = self.count(article)
        total = sum(batch.price * batch.pieces for batch in self.batches if batch.article == article)
        return total / pieces if pieces else Decimal(0)
