import { findWorkspace, listWorkspaces, uploadFigures } from './api';
import { ApiError, sentenceOf } from './errors';
import { LiveFeed, type LiveListener } from './live_feed';
import { DelayedCall } from './delayed_call';
import type { Session, Tally, Workspace } from './wire';

const kRefreshMs = 15_000;
// The delay after an event, so that a burst of events causes one read: short when an agent comes or goes, longer for events that
// are frequent.
const kSoonMs = 250;
const kLaterMs = 2_000;

// The workspaces that this session may see, and what waits for each: all of them for the operator, one for a sender (who may
// be allowed to see nothing but its chat; then it has no name here). Kept up to date while the page is visible.
export class Workspaces {
  list = $state.raw<Workspace[]>([]);
  // Files that wait, by workspace; none for a sender.
  files = $state.raw<ReadonlyMap<string, Tally>>(new Map());
  loaded = $state(false);
  error = $state('');
  readonly #feed = new LiveFeed();
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #soon = new DelayedCall(() => void this.refresh());

  constructor(
    private readonly session: Session,
    private readonly onSignedOut: () => void,
  ) {}

  open(): void {
    void this.refresh();
    this.#timer = setInterval(this.#shown, kRefreshMs);
    document.addEventListener('visibilitychange', this.#shown);
    if (this.session.role !== 'admin') return;
    this.onEvent((name) => this.#soon.in(name.startsWith('WORKSPACE_') || name === 'RESYNC' ? kSoonMs : kLaterMs));
    this.#feed.open();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#soon.cancel();
    this.#feed.close();
    document.removeEventListener('visibilitychange', this.#shown);
  }

  // Calls `listener` for every live event while the page is visible; returns a function that stops it. After a RESYNC events
  // may have been missed.
  onEvent(listener: LiveListener): () => void {
    return this.#feed.listen(listener);
  }

  find(id: string): Workspace | undefined {
    return this.list.find((workspace) => workspace.id.toLowerCase() === id);
  }

  async refresh(): Promise<void> {
    try {
      this.list = await this.#read();
      this.error = '';
    } catch (error) {
      if (error instanceof ApiError && error.signedOut && this.session.role === 'admin') this.onSignedOut();
      else if (this.session.role === 'admin') this.error = sentenceOf(error);
      else this.close();
    } finally {
      this.loaded = true;
    }
  }

  async #read(): Promise<Workspace[]> {
    if (this.session.role === 'admin') {
      const [list, figures] = await Promise.all([listWorkspaces(), uploadFigures()]);
      this.files = new Map(figures.workspaces.map((one) => [one.workspace_id, one.waiting]));
      return list.filter((workspace) => workspace.status !== 'removed');
    }
    return this.session.workspace_id ? [await findWorkspace(this.session.workspace_id)] : [];
  }

  #shown = () => {
    if (!document.hidden) void this.refresh();
  };
}
