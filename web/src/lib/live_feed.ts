// LiveFeed: the operator's stream of all live events, open while the page is visible. A hidden page closes its connection (a
// browser has six to one server) and receives a RESYNC when it is shown again.

export type LiveListener = (name: string, data: unknown) => void;

const kNames = [
  'RESYNC',
  'ACTIVITY_LOGGED',
  'AGENT_MESSAGE',
  'DELEGATION_SENT',
  'DELEGATION_STATUS',
  'DELEGATION_COMPLETE',
  'DELEGATION_FAILED',
  'UPLOAD_STAGED',
  'UPLOAD_FETCHED',
  'UPLOAD_ACKED',
  'UPLOAD_FAILED',
  'UPLOAD_EXPIRED',
  'UPLOAD_RECALLED',
  'WORKSPACE_ONLINE',
  'WORKSPACE_OFFLINE',
  'WORKSPACE_SILENT',
];
// When the server has closed the stream for good (there were too many, or a proxy cut it), a new one is opened after this time.
const kAgainMs = 10_000;

export class LiveFeed {
  readonly #listeners = new Set<LiveListener>();
  #source: EventSource | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;
  #open = false;

  open(): void {
    this.#open = true;
    document.addEventListener('visibilitychange', this.#update);
    this.#update();
  }

  close(): void {
    this.#open = false;
    document.removeEventListener('visibilitychange', this.#update);
    this.#update();
  }

  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #update = (): void => {
    clearTimeout(this.#again);
    const wanted = this.#open && !document.hidden;
    if (!wanted || this.#source?.readyState === EventSource.CLOSED) {
      this.#source?.close();
      this.#source = null;
    }
    if (!wanted || this.#source) return;
    const source = new EventSource('/events/stream');
    this.#source = source;
    for (const name of kNames) source.addEventListener(name, (event) => this.#notify(name, event));
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED && this.#source === source) this.#again = setTimeout(this.#update, kAgainMs);
    });
  };

  #notify(name: string, event: MessageEvent): void {
    let data: unknown = null;
    try {
      data = JSON.parse(String(event.data));
    } catch {
      // The name of the event is enough.
    }
    for (const listener of this.#listeners) listener(name, data);
  }
}
