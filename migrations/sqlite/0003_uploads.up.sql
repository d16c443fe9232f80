-- Files on their way to an agent. The bytes lie in Blobs under blob_key; a row is a promise that they can be read.

CREATE TABLE pending_uploads (
  file_id      BLOB NOT NULL PRIMARY KEY CHECK (length(file_id) = 16),
  workspace_id BLOB NOT NULL CHECK (length(workspace_id) = 16),
  blob_key     TEXT NOT NULL,
  size_bytes   INTEGER NOT NULL CHECK (size_bytes > 0 AND size_bytes <= 26214400),
  filename     TEXT NOT NULL CHECK (length(filename) BETWEEN 1 AND 100),
  mimetype     TEXT NOT NULL DEFAULT '',
  sha256       BLOB NOT NULL CHECK (length(sha256) = 32),
  direction    TEXT NOT NULL DEFAULT 'in' CHECK (direction IN ('in', 'out')),
  created_at   INTEGER NOT NULL,
  fetched_at   INTEGER,
  acked_at     INTEGER,
  -- created_at + 24 h by the setting; SQLite has no default that reads another column, so the writer always gives it.
  expires_at   INTEGER NOT NULL
) STRICT;

-- Rowids keep the order in which the files of one batch came; SQLite ends every index entry with them.
CREATE INDEX idx_pending_uploads_workspace_unacked ON pending_uploads (workspace_id, created_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_expires ON pending_uploads (expires_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_acked ON pending_uploads (acked_at) WHERE acked_at IS NOT NULL;
