// Backoff: the pause before the next attempt. It doubles up to a bound; each pause is random between half and all of that,
// so that a thousand agents do not come back to a restarted server in the same second.

/** No pause is longer while the network is up: reconnecting after an outage takes seconds. */
export const LONGEST_PAUSE = 10_000;

export class Backoff {
  #next: number;

  constructor(
    readonly first: number,
    readonly most: number = LONGEST_PAUSE,
  ) {
    this.#next = first;
  }

  next(): number {
    const whole = this.#next;
    this.#next = Math.min(whole * 2, this.most);
    return whole / 2 + Math.random() * (whole / 2);
  }

  reset(): void {
    this.#next = this.first;
  }
}
