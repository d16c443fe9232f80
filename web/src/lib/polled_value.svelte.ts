import { ApiError, sentenceOf } from './errors';
import { DelayedCall } from './delayed_call';

// PolledValue: one answer of the server, read again at an interval while the page is visible, and shortly after `soon()`.
// When a read fails, the last answer stays and `error` has the reason.
export class PolledValue<T> {
  value = $state.raw<T | null>(null);
  error = $state('');
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #soon = new DelayedCall(() => void this.refresh());
  #reads = 0;
  // The number of the newest read that was answered or is no longer wanted.
  #answered = 0;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly everyMs: number,
    private readonly onSignedOut: () => void,
  ) {}

  // Returns a function that stops it.
  open(): () => void {
    void this.refresh();
    this.#timer = setInterval(this.#shown, this.everyMs);
    document.addEventListener('visibilitychange', this.#shown);
    return () => {
      clearInterval(this.#timer);
      this.#soon.cancel();
      this.#answered = this.#reads;
      document.removeEventListener('visibilitychange', this.#shown);
    };
  }

  async refresh(): Promise<void> {
    const number = ++this.#reads;
    try {
      const value = await this.read();
      if (!this.#isNewer(number)) return;
      this.value = value;
      this.error = '';
    } catch (error) {
      if (!this.#isNewer(number)) return;
      if (error instanceof ApiError && error.signedOut) this.onSignedOut();
      else this.error = sentenceOf(error);
    }
  }

  // A late answer to an older read must not replace a newer one. An answer is used even if later reads are still running:
  // otherwise nothing would ever be shown when a read takes longer than the interval.
  #isNewer(number: number): boolean {
    if (number <= this.#answered) return false;
    this.#answered = number;
    return true;
  }

  // A burst of events causes one read.
  soon(ms = 500): void {
    this.#soon.in(ms);
  }

  #shown = () => {
    if (!document.hidden) void this.refresh();
  };
}
