import { SvelteMap } from 'svelte/reactivity';
import { newestActivity, recallFile } from './api';
import { ApiError, sentenceOf } from './errors';
import { nextMicrosecond } from './format';
import { follow } from './live';
import { fileOfRow, isFinal, newFileProgress, withFetched, withRow, withStatus, type FileProgress } from './file_progress';
import { OutgoingMessage } from './outbox.svelte';
import { chatMessagesFrom, type ChatMessage } from './timeline';
import type { ActivityRow } from './wire';

const kPage = 200;

// Chat: one workspace's conversation, kept up to date from open() to close(). Sending continues after close(), and the chat may
// be opened again. `chatMessages` are made from the inbox; `outbox` has what this page is still sending; `progressOf` has how
// far each file has come.
export class Chat {
  chatMessages = $state.raw<ChatMessage[]>([]);
  outbox = $state<OutgoingMessage[]>([]);
  readonly progressOf = new SvelteMap<string, FileProgress>();
  // Files of which the server has no record (any more).
  readonly lost = new SvelteMap<string, true>();
  loading = $state(true);
  error = $state('');
  link = $state<'live' | 'lost'>('live');
  reachedStart = $state(false);
  loadingEarlier = $state(false);

  // Files that this page sent itself, by file id: they can be shown even when the server has deleted them.
  readonly sent = new Map<string, File>();

  // By seq, ascending, each once.
  #rows: ActivityRow[] = [];
  #known = new Set<number>();
  #unfollow: (() => void) | null = null;
  #closed = false;

  constructor(
    readonly workspace: string,
    private readonly onSignedOut: () => void,
  ) {}

  async open(): Promise<void> {
    this.#closed = false;
    this.loading = this.chatMessages.length === 0;
    this.error = '';
    try {
      const page = await newestActivity(this.workspace, kPage);
      if (this.#closed) return;
      this.#rows = [];
      this.#known.clear();
      this.#take(page.reverse());
      this.reachedStart = page.length === 0 || page[0]?.seq === 1;
      this.#follow();
    } catch (error) {
      this.#fail(error);
    } finally {
      this.loading = false;
    }
  }

  close(): void {
    this.#closed = true;
    this.#unfollow?.();
  }

  async loadEarlier(): Promise<void> {
    const oldest = this.#rows[0];
    if (!oldest || this.loadingEarlier || this.reachedStart) return;
    this.loadingEarlier = true;
    try {
      // Rows may share a time. One microsecond later includes the ones we have, which are dropped again, and with them
      // any sibling; should a page hold nothing but known rows, the plain time moves on past them.
      const taken =
        this.#take((await newestActivity(this.workspace, kPage, nextMicrosecond(oldest.created_at))).reverse()) ||
        this.#take((await newestActivity(this.workspace, kPage, oldest.created_at)).reverse());
      this.reachedStart = taken === 0 || this.#rows[0]?.seq === 1;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.loadingEarlier = false;
    }
  }

  send(text: string, files: File[]): void {
    const drop = (outgoingMessage: OutgoingMessage) => this.#drop(outgoingMessage.messageId);
    const outgoingMessage = new OutgoingMessage(this.workspace, text, files, drop, this.onSignedOut);
    this.outbox.push(outgoingMessage);
    outgoingMessage.start();
  }

  // Returns a sentence when it failed; a success shows in the inbox.
  async recall(fileId: string): Promise<string> {
    try {
      await recallFile(this.workspace, fileId);
      return '';
    } catch (error) {
      if (error instanceof ApiError && error.signedOut) this.onSignedOut();
      return sentenceOf(error);
    }
  }

  get busy(): boolean {
    return this.outbox.some((outgoingMessage) => !outgoingMessage.accepted);
  }

  #follow(): void {
    this.#unfollow?.();
    this.#unfollow = follow(this.workspace, this.#rows.at(-1)?.seq ?? 0, () => this.#unfinished(), {
      rows: (rows) => this.#take(rows),
      fetched: (id, at) => this.progressOf.set(id, withFetched(this.progressOf.get(id) ?? newFileProgress(id), at)),
      file: (status) => {
        const id = status.file_id.toLowerCase();
        this.progressOf.set(id, withStatus(this.progressOf.get(id) ?? newFileProgress(id), status));
      },
      fileUnknown: (id) => this.lost.set(id, true),
      link: (state) => (this.link = state),
      resync: () => void this.open(),
      signedOut: () => this.onSignedOut(),
    });
  }

  // Adds rows (ascending) that are not known yet and returns how many there were.
  #take(rows: ActivityRow[]): number {
    const fresh = rows.filter((row) => !this.#known.has(row.seq));
    if (fresh.length === 0) return 0;
    this.#rows = [...this.#rows, ...fresh].sort((a, b) => a.seq - b.seq);
    for (const row of fresh) {
      this.#known.add(row.seq);
      const id = fileOfRow(row);
      if (id) this.progressOf.set(id, withRow(this.progressOf.get(id) ?? newFileProgress(id), row));
    }
    this.#settle();
    return fresh.length;
  }

  #settle(): void {
    const chatMessages = chatMessagesFrom(this.#rows, (file) => this.outbox.some((outgoingMessage) => outgoingMessage.holds(file)));
    const arrived = new Set(chatMessages.map((chatMessage) => chatMessage.messageId));
    for (const { fileId, file } of this.outbox.flatMap((outgoingMessage) => outgoingMessage.fileUploads)) {
      if (fileId) this.sent.set(fileId, file);
    }
    this.outbox = this.outbox.filter((outgoingMessage) => !arrived.has(outgoingMessage.messageId));
    for (const chatMessage of chatMessages) {
      if (chatMessage.from !== 'person') continue;
      for (const { fileId } of chatMessage.attachments) {
        if (fileId && !this.progressOf.has(fileId)) this.progressOf.set(fileId, newFileProgress(fileId));
      }
    }
    this.chatMessages = chatMessages;
  }

  #drop(messageId: string): void {
    this.outbox = this.outbox.filter((outgoingMessage) => outgoingMessage.messageId !== messageId);
    this.#settle();
  }

  #unfinished(): string[] {
    const open = [...this.progressOf.values()].filter((fileProgress) => !isFinal(fileProgress) && !this.lost.has(fileProgress.fileId));
    open.sort((a, b) => (b.stagedAt ?? '9').localeCompare(a.stagedAt ?? '9'));
    return open.map((fileProgress) => fileProgress.fileId);
  }

  #fail(error: unknown): void {
    if (error instanceof ApiError && error.signedOut) this.onSignedOut();
    else this.error = sentenceOf(error);
  }
}
