/** Sends bookings to the server of the hotel. */

import type { Booking } from "./booking";

export type Send = (url: string, init: RequestInit) => Promise<Response>;

const RETRIES = 3;

export function escapeHtml(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

export function card(booking: Booking): string {
  return `<p title="${escapeHtml(booking.room)}">${escapeHtml(booking.guest?.name ?? "")}</p>`;
}

export class Client {
  constructor(private readonly base: string, private readonly token: string, private readonly send: Send) {}

  /** Store a booking; a server error is retried, any other refusal is thrown. */
  async save(booking: Booking): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.send(`${this.base}/bookings/${encodeURIComponent(booking.id)}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
        body: JSON.stringify(booking),
      });
      if (response.ok) {
        return;
      }
      if (response.status < 500 || attempt >= RETRIES) {
        throw new Error(`booking ${booking.id} was refused: ${response.status}`);
      }
    }
  }

  async saveAll(bookings: Booking[]): Promise<number> {
    const results = await Promise.allSettled(bookings.map((booking) => this.save(booking)));
    return results.filter((result) => result.status === "fulfilled").length;
  }

  async load(id: string): Promise<Booking | undefined> {
    const url = `${this.base}/bookings/${encodeURIComponent(id)}`;
    const response = await this.send(url, { headers: { authorization: `Bearer ${this.token}` } });
    if (response.status === 404) {
      return undefined;
    }
    if (!response.ok) {
      throw new Error(`booking ${id} could not be read: ${response.status}`);
    }
    return (await response.json()) as Booking;
  }
}
