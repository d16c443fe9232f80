import { ApiError, sentenceOf } from './errors';
import { Soon } from './soon';

// Fresh: one answer of the server, read anew every so often while the page is visible, and soon after `soon()`. A failed
// look leaves the last answer standing and says why in `error`.
export class Fresh<T> {
  value = $state.raw<T | null>(null);
  error = $state('');
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #soon = new Soon(() => void this.look());
  #looks = 0;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly everyMs: number,
    private readonly onSignedOut: () => void,
  ) {}

  // Returns how to stop.
  open(): () => void {
    void this.look();
    this.#timer = setInterval(this.#shown, this.everyMs);
    document.addEventListener('visibilitychange', this.#shown);
    return () => {
      clearInterval(this.#timer);
      this.#soon.cancel();
      this.#looks += 1;
      document.removeEventListener('visibilitychange', this.#shown);
    };
  }

  async look(): Promise<void> {
    const number = ++this.#looks;
    try {
      const value = await this.read();
      // A slower, older answer must not undo a newer one.
      if (number !== this.#looks) return;
      this.value = value;
      this.error = '';
    } catch (error) {
      if (number !== this.#looks) return;
      if (error instanceof ApiError && error.signedOut) this.onSignedOut();
      else this.error = sentenceOf(error);
    }
  }

  // A burst of news is one look.
  soon(ms = 500): void {
    this.#soon.in(ms);
  }

  #shown = () => {
    if (!document.hidden) void this.look();
  };
}
