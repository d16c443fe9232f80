import { findWorkspace, listWorkspaces } from './api';
import { ApiError, sentenceOf } from './errors';
import type { Session, Workspace } from './wire';

const kRefreshMs = 10_000;

// The workspaces this session may see, refreshed while the page is visible: all of them for the operator, one for a
// sender (who may not be told anything about it but its chat; then it has no name here).
export class Workspaces {
  list = $state.raw<Workspace[]>([]);
  loaded = $state(false);
  error = $state('');
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly session: Session,
    private readonly onSignedOut: () => void,
  ) {}

  open(): void {
    void this.refresh();
    this.#timer = setInterval(() => {
      if (!document.hidden) void this.refresh();
    }, kRefreshMs);
    document.addEventListener('visibilitychange', this.#shown);
  }

  close(): void {
    clearInterval(this.#timer);
    document.removeEventListener('visibilitychange', this.#shown);
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
      return (await listWorkspaces()).filter((workspace) => workspace.status !== 'removed');
    }
    return this.session.workspace_id ? [await findWorkspace(this.session.workspace_id)] : [];
  }

  #shown = () => {
    if (!document.hidden) void this.refresh();
  };
}
