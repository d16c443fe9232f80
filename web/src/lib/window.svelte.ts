import { SvelteSet } from 'svelte/reactivity';

// ScrollWindow: decides which pieces of a long scrolling list are drawn. A piece far from the visible part is an empty box of
// its last known height, or of an estimated one. The visible part does not jump when a piece above it becomes taller. The
// browser's own scroll anchoring must be off on the scroller: not every browser has it, and two would work against each other.

// Pieces are drawn this far beyond the visible part, so that they are ready when the reader scrolls.
const kMarginPx = 900;
// The estimated height of a message: two lines and their header.
const kMessagePx = 96;

export class ScrollWindow {
  readonly drawn = new SvelteSet<number>();
  readonly #heights = new Map<number, number>();
  readonly #pieces = new Map<Element, number>();
  readonly #visibility: IntersectionObserver;
  readonly #sizes: ResizeObserver;

  // `hold` is called after pieces have changed their heights; it returns true when it has set the scroll position itself.
  constructor(
    private readonly scroller: HTMLElement,
    private readonly hold: () => boolean,
  ) {
    const options = { root: scroller, rootMargin: `${kMarginPx}px 0px` };
    this.#visibility = new IntersectionObserver((entries) => this.#seen(entries), options);
    this.#sizes = new ResizeObserver((entries) => this.#sized(entries));
  }

  // An action for the element of a piece.
  watch = (element: HTMLElement, id: number) => {
    this.#pieces.set(element, id);
    this.#visibility.observe(element);
    this.#sizes.observe(element);
    return {
      destroy: () => {
        this.#pieces.delete(element);
        this.#visibility.unobserve(element);
        this.#sizes.unobserve(element);
        this.drawn.delete(id);
      },
    };
  };

  heightOf(id: number, chatMessages: number): number {
    return this.#heights.get(id) ?? chatMessages * kMessagePx;
  }

  // Runs `change`, which adds pieces above the visible part, and keeps the visible part where it is.
  async keeping(change: () => Promise<void>): Promise<void> {
    const { scroller } = this;
    let fromEnd = scroller.scrollHeight - scroller.scrollTop;
    const follow = () => (fromEnd = scroller.scrollHeight - scroller.scrollTop);
    scroller.addEventListener('scroll', follow);
    await change();
    scroller.removeEventListener('scroll', follow);
    scroller.scrollTop = scroller.scrollHeight - fromEnd;
    for (const [element, id] of this.#pieces) this.#heights.set(id, element.getBoundingClientRect().height);
  }

  close(): void {
    this.#visibility.disconnect();
    this.#sizes.disconnect();
  }

  #seen(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const id = this.#pieces.get(target);
      if (id === undefined) continue;
      if (isIntersecting) this.drawn.add(id);
      // Removing the element that has the focus would move the focus to the top of the page.
      else if (!target.contains(document.activeElement)) this.drawn.delete(id);
    }
  }

  #sized(entries: ResizeObserverEntry[]): void {
    const top = this.scroller.getBoundingClientRect().top;
    let grown = 0;
    for (const { target } of entries) {
      const id = this.#pieces.get(target);
      if (id === undefined) continue;
      const { height, bottom } = target.getBoundingClientRect();
      const before = this.#heights.get(id) ?? height;
      this.#heights.set(id, height);
      if (bottom - (height - before) <= top) grown += height - before;
    }
    if (!this.hold() && grown !== 0) this.scroller.scrollTop += grown;
  }
}
