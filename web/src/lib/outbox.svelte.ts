import { recallFile, sendMessage } from './api';
import { ApiError, sentenceOf } from './errors';
import type { Attachment } from './timeline';
import { upload, type Upload } from './upload';
import { fileIdOf, type Part, type StagedFile } from './wire';

// What this page is sending: an OutgoingMessage is one message with its FileUploads. Files are sent first, three at a time; the
// message that names them is sent when each file is staged or was removed. A failed file stays in the list with the reason,
// and can be tried again or removed.

const kUploadsAtOnce = 3;

export class FileUpload {
  readonly key = crypto.randomUUID();
  stage = $state<'queued' | 'uploading' | 'staged' | 'failed'>('queued');
  sent = $state(0);
  // Bytes a second, averaged over this attempt: easier to read than the current rate.
  rate = $state(0);
  error = $state('');
  staged = $state.raw<StagedFile | null>(null);
  #upload: Upload | null = null;

  constructor(readonly file: File) {}

  get fileId(): string | null {
    return this.staged && fileIdOf(this.staged.uri);
  }

  async send(workspace: string): Promise<void> {
    const began = performance.now();
    this.stage = 'uploading';
    this.error = '';
    this.sent = 0;
    try {
      this.#upload = upload(workspace, this.file, this.key, (sent) => {
        this.sent = sent;
        this.rate = sent / Math.max(0.001, (performance.now() - began) / 1000);
      });
      this.staged = await this.#upload.done;
      this.stage = 'staged';
    } catch (error) {
      this.stage = 'failed';
      this.error = sentenceOf(error);
    }
  }

  cancel(): void {
    this.#upload?.cancel();
  }
}

export class OutgoingMessage {
  readonly messageId = crypto.randomUUID();
  readonly at = new Date().toISOString();
  fileUploads = $state<FileUpload[]>([]);
  error = $state('');
  // Accepted by the server; its row in the inbox has not been read yet.
  accepted = $state(false);
  #posting = false;

  constructor(
    readonly workspace: string,
    readonly text: string,
    files: File[],
    // Called when nothing is left to send: every file was removed and there is no text.
    private readonly onEmpty: (outgoingMessage: OutgoingMessage) => void,
    private readonly onSignedOut: () => void,
  ) {
    this.fileUploads = files.map((file) => new FileUpload(file));
  }

  // Whether this file of the inbox is one of the files of this message. The inbox row can arrive before the answer to the upload,
  // which has the file's id; until then the size is compared.
  holds(file: Attachment): boolean {
    return this.fileUploads.some((fileUpload) =>
      fileUpload.fileId ? fileUpload.fileId === file.fileId : fileUpload.stage === 'uploading' && fileUpload.file.size === file.size,
    );
  }

  get stuck(): boolean {
    return this.error !== '' || this.fileUploads.some((fileUpload) => fileUpload.stage === 'failed');
  }

  start(): void {
    for (let n = 0; n < kUploadsAtOnce; n += 1) void this.#sendNext();
    this.#postWhenReady();
  }

  retry(): void {
    this.error = '';
    for (const fileUpload of this.fileUploads) if (fileUpload.stage === 'failed') fileUpload.stage = 'queued';
    this.start();
  }

  remove(fileUpload: FileUpload): void {
    this.fileUploads = this.fileUploads.filter((other) => other !== fileUpload);
    fileUpload.cancel();
    if (this.fileUploads.length === 0 && this.text === '') this.onEmpty(this);
    else this.#postWhenReady();
  }

  abandon(): void {
    for (const fileUpload of this.fileUploads) {
      fileUpload.cancel();
      // The agent must not get a file that was discarded. If this fails, the chat shows the file, and it can be recalled there.
      if (fileUpload.fileId) recallFile(this.workspace, fileUpload.fileId).catch(() => undefined);
    }
    this.fileUploads = [];
    this.onEmpty(this);
  }

  async #sendNext(): Promise<void> {
    for (;;) {
      const busy = this.fileUploads.filter((fileUpload) => fileUpload.stage === 'uploading').length;
      const next = this.fileUploads.find((fileUpload) => fileUpload.stage === 'queued');
      if (!next || busy >= kUploadsAtOnce) break;
      await next.send(this.workspace);
    }
    this.#postWhenReady();
  }

  #postWhenReady(): void {
    const ready = this.fileUploads.every((fileUpload) => fileUpload.stage === 'staged');
    if (!ready || this.#posting || this.accepted || (this.fileUploads.length === 0 && this.text === '')) return;
    this.#posting = true;
    void this.#post().finally(() => (this.#posting = false));
  }

  async #post(): Promise<void> {
    this.error = '';
    try {
      await sendMessage(this.workspace, this.messageId, this.#parts());
      this.accepted = true;
    } catch (error) {
      this.error = sentenceOf(error);
      if (error instanceof ApiError && error.signedOut) this.onSignedOut();
    }
  }

  #parts(): Part[] {
    const parts: Part[] = this.text === '' ? [] : [{ kind: 'text', text: this.text }];
    for (const { staged } of this.fileUploads) {
      if (!staged) continue;
      const { uri, name, mimeType, size } = staged;
      parts.push({ kind: 'file', file: { uri, name, mimeType, size } });
    }
    return parts;
  }
}
