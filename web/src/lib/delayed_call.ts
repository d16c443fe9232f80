// DelayedCall: calls a function once, after a delay. When it is asked for again before that, the earlier time counts, so that
// a burst of requests is one call.
export class DelayedCall {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Infinity;

  constructor(private readonly act: () => void) {}

  in(ms: number): void {
    const dueAt = performance.now() + ms;
    if (dueAt >= this.#dueAt) return;
    this.cancel();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = Infinity;
      this.act();
    }, ms);
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
  }
}
