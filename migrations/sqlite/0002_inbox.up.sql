-- The activity log: the agent's inbox and the audit trail in one.

-- The next seq is taken here and not from the workspace's row, which heartbeats rewrite all the time. The quota's figures
-- sit beside it because staging moves both at once.
CREATE TABLE inbox_heads (
  workspace_id    BLOB NOT NULL PRIMARY KEY CHECK (length(workspace_id) = 16),
  last_seq        INTEGER NOT NULL DEFAULT 0,
  last_created_at INTEGER NOT NULL DEFAULT 0,
  acked_seq       INTEGER NOT NULL DEFAULT 0,
  -- All uploads of the workspace, which is what the quota limits, and how many of them are in which state: fetched and
  -- failed ones are not acked, outgoing ones are in no state. Moved in the transaction that moves the rows.
  staged_bytes    INTEGER NOT NULL DEFAULT 0,
  staged_files    INTEGER NOT NULL DEFAULT 0,
  fetched_bytes   INTEGER NOT NULL DEFAULT 0,
  fetched_files   INTEGER NOT NULL DEFAULT 0,
  failed_bytes    INTEGER NOT NULL DEFAULT 0,
  failed_files    INTEGER NOT NULL DEFAULT 0,
  acked_bytes     INTEGER NOT NULL DEFAULT 0,
  acked_files     INTEGER NOT NULL DEFAULT 0,
  outgoing_bytes  INTEGER NOT NULL DEFAULT 0,
  outgoing_files  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

INSERT INTO inbox_heads (workspace_id) SELECT id FROM workspaces;

-- A rowid table with indexes beside it: appending to it is measurably cheaper than keeping it sorted by (workspace, seq).
CREATE TABLE activity_logs (
  id            BLOB NOT NULL CHECK (length(id) = 16),
  workspace_id  BLOB NOT NULL CHECK (length(workspace_id) = 16),
  seq           INTEGER NOT NULL CHECK (seq > 0),
  activity_type TEXT NOT NULL,
  source_id     BLOB CHECK (length(source_id) = 16),
  target_id     BLOB CHECK (length(target_id) = 16),
  method        TEXT NOT NULL DEFAULT '',
  summary       TEXT NOT NULL DEFAULT '',
  request_body  TEXT,
  response_body TEXT,
  status        TEXT NOT NULL DEFAULT 'ok',
  error_detail  TEXT,
  duration_ms   INTEGER,
  created_at    INTEGER NOT NULL,
  message_id    TEXT,
  traceparent   TEXT
) STRICT;

CREATE UNIQUE INDEX idx_activity_logs_workspace_seq ON activity_logs (workspace_id, seq);
CREATE UNIQUE INDEX idx_activity_logs_id ON activity_logs (id);
