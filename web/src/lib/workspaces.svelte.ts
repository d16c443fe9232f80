import { findWorkspace, listUploadFigures, listWorkspaces, type Page } from './api';
import { ApiError, sentenceOf } from './errors';
import { LiveFeed, type LiveListener } from './live_feed';
import { DelayedCall } from './delayed_call';
import type { Session, Tally, Workspace } from './wire';

const kRefreshMs = 15_000;
// The delay after an event, so that a burst of events causes one read: short when an agent comes or goes, longer for events that
// are frequent.
const kSoonMs = 250;
const kLaterMs = 2_000;
// The first page of a list is small, so that the first part is shown soon; the others are as large as the server allows.
const kFirstPage = 100;
const kPage = 1_000;

async function* pagesOf<T>(read: (limit: number, after: string | null) => Promise<Page<T>>): AsyncGenerator<T[]> {
  let page = await read(kFirstPage, null);
  yield page.items;
  while (page.next !== null) {
    page = await read(kPage, page.next);
    yield page.items;
  }
}

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
  #running: Promise<void> | undefined;
  #following: Promise<void> | undefined;

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

  // One read at a time. A call during a read waits for another read after it, because the one that runs may have passed the
  // workspace that the caller wants to see.
  refresh(): Promise<void> {
    if (!this.#running) {
      this.#running = this.#read().finally(() => (this.#running = undefined));
      return this.#running;
    }
    this.#following ??= this.#running.then(() => {
      this.#following = undefined;
      return this.refresh();
    });
    return this.#following;
  }

  async #read(): Promise<void> {
    try {
      if (this.session.role === 'admin') await Promise.all([this.#readList(), this.#readFiles()]);
      else if (this.session.workspace_id) this.list = [await findWorkspace(this.session.workspace_id)];
      this.error = '';
    } catch (error) {
      if (error instanceof ApiError && error.signedOut && this.session.role === 'admin') this.onSignedOut();
      else if (this.session.role === 'admin') this.error = sentenceOf(error);
      else this.close();
    } finally {
      this.loaded = true;
    }
  }

  // The first time every page is shown when it arrives. Later the whole list is replaced at once: nothing vanishes meanwhile.
  async #readList(): Promise<void> {
    const first = !this.loaded;
    const list: Workspace[] = [];
    for await (const page of pagesOf(listWorkspaces)) {
      list.push(...page.filter((workspace) => workspace.status !== 'removed'));
      if (!first) continue;
      this.list = [...list];
      this.loaded = true;
    }
    this.list = list;
  }

  async #readFiles(): Promise<void> {
    const files = new Map<string, Tally>();
    for await (const page of pagesOf(listUploadFigures)) {
      for (const one of page) files.set(one.workspace_id, one.waiting);
    }
    this.files = files;
  }

  #shown = () => {
    if (!document.hidden) void this.refresh();
  };
}
