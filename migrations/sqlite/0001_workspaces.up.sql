-- Workspaces and the tokens that act for them.
-- Times are microseconds since 1970 (INTEGER), ids are the 16 bytes of a UUID (BLOB), JSON is text as it will be sent.
-- No table has a foreign key: removing a workspace never deletes its uploads, activity or delegations. They are evidence.

CREATE TABLE workspaces (
  id                BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  name              TEXT NOT NULL,
  role              TEXT NOT NULL DEFAULT '',
  parent_id         BLOB CHECK (length(parent_id) = 16),
  -- NULL or empty reads as push: rows of agents that never said.
  delivery_mode     TEXT CHECK (delivery_mode IN ('push', 'poll', '')),
  url               TEXT NOT NULL DEFAULT '',
  agent_card        TEXT,
  status            TEXT NOT NULL DEFAULT 'awaiting_agent'
                    CHECK (status IN ('awaiting_agent', 'online', 'degraded', 'offline', 'removed')),
  last_heartbeat_at INTEGER,
  last_poll_at      INTEGER,
  current_task      TEXT NOT NULL DEFAULT '',
  active_tasks      INTEGER NOT NULL DEFAULT 0,
  uptime_seconds    INTEGER NOT NULL DEFAULT 0,
  last_error_rate   REAL NOT NULL DEFAULT 0,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
  id           BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  -- SHA-256 of the token. The token itself is nowhere in this file.
  hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  kind         TEXT NOT NULL CHECK (kind IN ('admin', 'workspace', 'sender', 'enrolment', 'session')),
  workspace_id BLOB CHECK (length(workspace_id) = 16),
  prefix       TEXT NOT NULL,
  label        TEXT NOT NULL DEFAULT '',
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at   INTEGER,
  revoked_at   INTEGER
) STRICT;

CREATE INDEX idx_tokens_workspace ON tokens (workspace_id, created_at);
