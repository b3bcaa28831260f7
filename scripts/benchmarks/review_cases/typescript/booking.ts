/** Bookings of rooms: half-open intervals of days. */

export interface Booking {
  id: string;
  room: string;
  from: number; // day, included
  to: number; // day, excluded
  guest?: { name: string; email?: string };
}

export class Conflict extends Error {}

export function overlaps(a: Booking, b: Booking): boolean {
  return a.room === b.room && a.from < b.to && b.from < a.to;
}

export function nights(booking: Booking): number {
  return booking.to - booking.from;
}

/** The price in cents; every seventh night is free. */
export function price(booking: Booking, cents: number): number {
  const paid = nights(booking) - Math.floor(nights(booking) / 7);
  return paid * cents;
}

export function greeting(booking: Booking): string {
  return `Welcome, ${booking.guest?.name ?? "guest"}!`;
}

export class Calendar {
  private readonly bookings = new Map<string, Booking>();

  /** Throws Conflict if the room is taken, RangeError for an empty stay. */
  add(booking: Booking): void {
    if (booking.to <= booking.from) {
      throw new RangeError("a booking needs at least one night");
    }
    for (const other of this.bookings.values()) {
      if (other.id !== booking.id && overlaps(booking, other)) {
        throw new Conflict(`room ${booking.room} is taken by ${other.id}`);
      }
    }
    this.bookings.set(booking.id, booking);
  }

  cancel(id: string): boolean {
    return this.bookings.delete(id);
  }

  /** The bookings of a room, the earliest first. */
  of(room: string): Booking[] {
    const found = [...this.bookings.values()].filter((booking) => booking.room === room);
    return found.sort((a, b) => a.from - b.from);
  }

  /** The share of days in [from, to) for which a room is taken. */
  occupancy(room: string, from: number, to: number): number {
    if (to <= from) {
      return 0;
    }
    let taken = 0;
    for (const booking of this.of(room)) {
      taken += Math.max(0, Math.min(booking.to, to) - Math.max(booking.from, from));
    }
    return taken / (to - from);
  }
}
