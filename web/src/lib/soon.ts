// Soon: one call a while after it was asked for. Asked again before, the earlier of the two times counts, so that a burst
// of wishes is one call.
export class Soon {
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
