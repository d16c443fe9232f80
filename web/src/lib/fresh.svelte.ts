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
  // The newest look that was answered, or is not wanted any more.
  #seen = 0;

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
      this.#seen = this.#looks;
      document.removeEventListener('visibilitychange', this.#shown);
    };
  }

  async look(): Promise<void> {
    const number = ++this.#looks;
    try {
      const value = await this.read();
      if (!this.#isNews(number)) return;
      this.value = value;
      this.error = '';
    } catch (error) {
      if (!this.#isNews(number)) return;
      if (error instanceof ApiError && error.signedOut) this.onSignedOut();
      else this.error = sentenceOf(error);
    }
  }

  // A slower, older answer must not undo a newer one. One that merely has successors on their way is taken: where each look
  // lasts longer than it takes for the next to begin, nothing would ever be shown.
  #isNews(number: number): boolean {
    if (number <= this.#seen) return false;
    this.#seen = number;
    return true;
  }

  // A burst of news is one look.
  soon(ms = 500): void {
    this.#soon.in(ms);
  }

  #shown = () => {
    if (!document.hidden) void this.look();
  };
}
