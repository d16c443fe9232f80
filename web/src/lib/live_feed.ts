// LiveFeed: the operator's stream of everything that happens, held open while the page is visible. A hidden page gives its
// connection back (a browser has six to one server) and hears a RESYNC when it is shown again.

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
// A stream the server has closed for good (it was one too many, or a proxy cut it) is asked for again after this.
const kAgainMs = 10_000;

export class LiveFeed {
  readonly #listeners = new Set<LiveListener>();
  #source: EventSource | null = null;
  #again: ReturnType<typeof setTimeout> | undefined;
  #open = false;

  open(): void {
    this.#open = true;
    document.addEventListener('visibilitychange', this.#turn);
    this.#turn();
  }

  close(): void {
    this.#open = false;
    document.removeEventListener('visibilitychange', this.#turn);
    this.#turn();
  }

  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #turn = (): void => {
    clearTimeout(this.#again);
    const wanted = this.#open && !document.hidden;
    if (!wanted || this.#source?.readyState === EventSource.CLOSED) {
      this.#source?.close();
      this.#source = null;
    }
    if (!wanted || this.#source) return;
    const source = new EventSource('/events/stream');
    this.#source = source;
    for (const name of kNames) source.addEventListener(name, (event) => this.#tell(name, event));
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED && this.#source === source) this.#again = setTimeout(this.#turn, kAgainMs);
    });
  };

  #tell(name: string, event: MessageEvent): void {
    let data: unknown = null;
    try {
      data = JSON.parse(String(event.data));
    } catch {
      // The name alone is news enough.
    }
    for (const listener of this.#listeners) listener(name, data);
  }
}
