-- oldest-binary: 6
-- Files on their way to an agent, or from one. The bytes lie in Blobs under blob_key or, small ones, in a row of
-- upload_contents; a row here is a promise that they can be read. A server that does not find these tables stages nothing
-- and does everything else.

CREATE TABLE pending_uploads (
  file_id      BLOB NOT NULL PRIMARY KEY CHECK (length(file_id) = 16),
  workspace_id BLOB NOT NULL CHECK (length(workspace_id) = 16),
  blob_key     TEXT,
  content_row  INTEGER,
  size_bytes   INTEGER NOT NULL CHECK (size_bytes > 0 AND size_bytes <= 26214400),
  filename     TEXT NOT NULL CHECK (length(filename) BETWEEN 1 AND 100),
  mimetype     TEXT NOT NULL DEFAULT '',
  sha256       BLOB NOT NULL CHECK (length(sha256) = 32),
  direction    TEXT NOT NULL DEFAULT 'in' CHECK (direction IN ('in', 'out')),
  -- The sender's token; NULL for the operator and the agent itself.
  staged_by    BLOB CHECK (length(staged_by) = 16),
  -- The agent whose message brought it: not a part of the chat with people.
  source_id    BLOB CHECK (length(source_id) = 16),
  created_at   INTEGER NOT NULL,
  fetched_at   INTEGER,
  acked_at     INTEGER,
  -- The agent could not take it, and why.
  failed_at    INTEGER,
  reason       TEXT CHECK (length(reason) <= 500),
  -- created_at + 24 h by the setting; SQLite has no default that reads another column, so the writer always gives it.
  expires_at   INTEGER NOT NULL,
  CHECK ((blob_key IS NULL) <> (content_row IS NULL))
) STRICT;

-- Rowids keep the order in which the files of one batch came; SQLite ends every index entry with them.
CREATE INDEX idx_pending_uploads_workspace_unacked ON pending_uploads (workspace_id, created_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_expires ON pending_uploads (expires_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_acked ON pending_uploads (acked_at) WHERE acked_at IS NOT NULL;
-- Failures are few among many; nothing else pays for this one.
CREATE INDEX idx_pending_uploads_failed ON pending_uploads (expires_at) WHERE failed_at IS NOT NULL AND acked_at IS NULL;
-- Rows may share their bytes, which leave with the last of them.
CREATE INDEX idx_pending_uploads_blob ON pending_uploads (blob_key) WHERE blob_key IS NOT NULL;

-- Apart from their rows, so that an ack does not write them again.
CREATE TABLE upload_contents (
  id      INTEGER PRIMARY KEY,
  content BLOB NOT NULL CHECK (length(content) BETWEEN 1 AND 16384)
) STRICT;

-- What became of files whose rows have left. Kept in the order in which they left, which is the order of pruning.
-- The key's columns come first: quick_check of SQLite 3.40 finds damage in a table without rowids where they do not.
CREATE TABLE finished_uploads (
  ended_at     INTEGER NOT NULL,
  file_id      BLOB NOT NULL UNIQUE CHECK (length(file_id) = 16),
  workspace_id BLOB NOT NULL CHECK (length(workspace_id) = 16),
  size_bytes   INTEGER NOT NULL,
  filename     TEXT NOT NULL,
  mimetype     TEXT NOT NULL,
  sha256       BLOB NOT NULL CHECK (length(sha256) = 32),
  direction    TEXT NOT NULL,
  staged_by    BLOB,
  source_id    BLOB,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  fetched_at   INTEGER,
  acked_at     INTEGER,
  failed_at    INTEGER,
  reason       TEXT,
  outcome      TEXT NOT NULL CHECK (outcome IN ('acked', 'expired', 'recalled')),
  PRIMARY KEY (ended_at, file_id)
) STRICT, WITHOUT ROWID;

-- Bytes in Blobs that no row needs any more, until they are deleted there.
CREATE TABLE dropped_blobs (
  blob_key TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
