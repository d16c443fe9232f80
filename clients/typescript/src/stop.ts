// Stop: the one signal that ends the agent; it cannot be taken back. Every part of the agent sleeps by waiting on it, or
// on a Wakeup, so that none sleeps on after a request. monotonic(): milliseconds of a clock that is never set.

export function monotonic(): number {
  return performance.now();
}

export class Stop {
  #requested = false;
  readonly #listeners = new Set<() => void>();

  get requested(): boolean {
    return this.#requested;
  }

  request(): void {
    if (this.#requested) return;
    this.#requested = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  /** Calls the listener once, at the request; at once when that was before. Returns how to take it back. */
  onRequest(listener: () => void): () => void {
    if (this.#requested) {
      listener();
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** True when stop was requested, at once or within the time. */
  wait(milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        forget();
        resolve(this.#requested);
      }, milliseconds);
      const forget = this.onRequest(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}

export class Wakeup {
  readonly #sleepers = new Set<() => void>();

  ring(): void {
    const sleepers = [...this.#sleepers];
    this.#sleepers.clear();
    for (const wake of sleepers) wake();
  }

  /** Returns after ring(), after a requested stop, or when the time is up. */
  wait(milliseconds: number, stop: Stop): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        forget();
        resolve();
      };
      let forget: () => void = () => {};
      const timer = setTimeout(wake, Math.max(0, milliseconds));
      this.#sleepers.add(wake);
      forget = stop.onRequest(wake);
    });
  }
}

/** Returns when one of the stops is requested, or when the time is up. */
export function waitForAny(milliseconds: number, ...stops: Stop[]): Promise<void> {
  return new Promise((resolve) => {
    const forget: (() => void)[] = [];
    const end = (): void => {
      clearTimeout(timer);
      for (const one of forget) one();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    for (const stop of stops) forget.push(stop.onRequest(end));
  });
}
