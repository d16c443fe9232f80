import { SvelteSet } from 'svelte/reactivity';

// ScrollWindow: which pieces of a long scrolling list are drawn. A piece far from the reader is an empty box of the height
// it had, or is guessed to have; what is in view does not jump when a piece above it turns out taller. The browser's own
// anchoring must be off on the scroller: not every browser has it, and two would fight.

// Drawn this far beyond the edges, so that scrolling meets finished chatMessages.
const kMarginPx = 900;
// Two lines and their header.
const kLetterPx = 96;

export class ScrollWindow {
  readonly drawn = new SvelteSet<number>();
  readonly #heights = new Map<number, number>();
  readonly #pieces = new Map<Element, number>();
  readonly #sight: IntersectionObserver;
  readonly #sizes: ResizeObserver;

  // `hold` is asked after pieces have changed their heights: true when it has brought the view to where it should be.
  constructor(
    private readonly scroller: HTMLElement,
    private readonly hold: () => boolean,
  ) {
    const options = { root: scroller, rootMargin: `${kMarginPx}px 0px` };
    this.#sight = new IntersectionObserver((entries) => this.#seen(entries), options);
    this.#sizes = new ResizeObserver((entries) => this.#sized(entries));
  }

  // An action for the element of a piece.
  watch = (element: HTMLElement, id: number) => {
    this.#pieces.set(element, id);
    this.#sight.observe(element);
    this.#sizes.observe(element);
    return {
      destroy: () => {
        this.#pieces.delete(element);
        this.#sight.unobserve(element);
        this.#sizes.unobserve(element);
        this.drawn.delete(id);
      },
    };
  };

  heightOf(id: number, chatMessages: number): number {
    return this.#heights.get(id) ?? chatMessages * kLetterPx;
  }

  // Runs `change`, which adds above what is in view, and keeps that where it is.
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
    this.#sight.disconnect();
    this.#sizes.disconnect();
  }

  #seen(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const id = this.#pieces.get(target);
      if (id === undefined) continue;
      if (isIntersecting) this.drawn.add(id);
      // Taking away what has the focus would throw the keyboard back to the top of the page.
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
