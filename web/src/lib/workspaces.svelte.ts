import { findWorkspace, listWorkspaces, uploadFigures } from './api';
import { ApiError, sentenceOf } from './errors';
import { LiveFeed, type LiveListener } from './live_feed';
import { Soon } from './soon';
import type { Session, Tally, Workspace } from './wire';

const kRefreshMs = 15_000;
// After news, so that a burst of it is one look: at once for who comes and goes, later for what moves all the time.
const kSoonMs = 250;
const kLaterMs = 2_000;

// The workspaces this session may see, and what waits for each: all of them for the operator, one for a sender (who may
// not be told anything about it but its chat; then it has no name here). Kept up to date while the page is visible.
export class Workspaces {
  list = $state.raw<Workspace[]>([]);
  // Files that wait, by workspace; none for a sender.
  files = $state.raw<ReadonlyMap<string, Tally>>(new Map());
  loaded = $state(false);
  error = $state('');
  readonly #news = new LiveFeed();
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #soon = new Soon(() => void this.refresh());

  constructor(
    private readonly session: Session,
    private readonly onSignedOut: () => void,
  ) {}

  open(): void {
    void this.refresh();
    this.#timer = setInterval(this.#shown, kRefreshMs);
    document.addEventListener('visibilitychange', this.#shown);
    if (this.session.role !== 'admin') return;
    this.onNews((name) => this.#soon.in(name.startsWith('WORKSPACE_') || name === 'RESYNC' ? kSoonMs : kLaterMs));
    this.#news.open();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#soon.cancel();
    this.#news.close();
    document.removeEventListener('visibilitychange', this.#shown);
  }

  // Everything the server tells the operator, as long as the page is visible; returns how to stop. After a RESYNC
  // something may have been missed.
  onNews(listener: LiveListener): () => void {
    return this.#news.listen(listener);
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
