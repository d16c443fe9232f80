-- Workspaces and the tokens that act for them.
-- Times are UTC (timestamptz keeps microseconds), ids are uuids, JSON is kept as the text it will be sent as: json, never jsonb,
-- which reorders members and adds spaces.
-- No table has a foreign key: removing a workspace never deletes its uploads, activity or delegations. They are evidence.

CREATE TABLE workspaces (
  id                uuid PRIMARY KEY,
  name              text NOT NULL,
  role              text NOT NULL DEFAULT '',
  parent_id         uuid,
  delivery_mode     text CHECK (delivery_mode IN ('push', 'poll', '')),
  url               text NOT NULL DEFAULT '',
  agent_card        json,
  status            text NOT NULL DEFAULT 'awaiting_agent'
                    CHECK (status IN ('awaiting_agent', 'online', 'degraded', 'offline', 'removed')),
  last_heartbeat_at timestamptz,
  last_poll_at      timestamptz,
  current_task      text NOT NULL DEFAULT '',
  active_tasks      bigint NOT NULL DEFAULT 0,
  uptime_seconds    bigint NOT NULL DEFAULT 0,
  last_error_rate   double precision NOT NULL DEFAULT 0,
  created_at        timestamptz NOT NULL DEFAULT now(),
  updated_at        timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
COMMENT ON TABLE workspaces IS 'One agent each. Room is left in its pages: heartbeats rewrite rows in place.';
COMMENT ON COLUMN workspaces.delivery_mode IS 'NULL or empty reads as push: rows of agents that never said.';

CREATE TABLE tokens (
  id           uuid PRIMARY KEY,
  hash         bytea NOT NULL CONSTRAINT tokens_hash_key UNIQUE CHECK (octet_length(hash) = 32),
  kind         text NOT NULL CHECK (kind IN ('admin', 'workspace', 'sender', 'enrolment', 'session')),
  workspace_id uuid,
  prefix       text NOT NULL,
  label        text NOT NULL DEFAULT '',
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz,
  expires_at   timestamptz,
  revoked_at   timestamptz
) WITH (fillfactor = 70);
COMMENT ON COLUMN tokens.hash IS 'SHA-256 of the token. The token itself is nowhere in this database.';

CREATE INDEX idx_tokens_workspace ON tokens (workspace_id, created_at);
