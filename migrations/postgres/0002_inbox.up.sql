-- The activity log: the agent's inbox and the audit trail in one.

CREATE TABLE inbox_heads (
  workspace_id    uuid PRIMARY KEY,
  last_seq        bigint NOT NULL DEFAULT 0,
  last_created_at timestamptz NOT NULL DEFAULT 'epoch',
  acked_seq       bigint NOT NULL DEFAULT 0,
  staged_bytes    bigint NOT NULL DEFAULT 0,
  staged_files    bigint NOT NULL DEFAULT 0,
  fetched_bytes   bigint NOT NULL DEFAULT 0,
  fetched_files   bigint NOT NULL DEFAULT 0,
  failed_bytes    bigint NOT NULL DEFAULT 0,
  failed_files    bigint NOT NULL DEFAULT 0,
  acked_bytes     bigint NOT NULL DEFAULT 0,
  acked_files     bigint NOT NULL DEFAULT 0,
  outgoing_bytes  bigint NOT NULL DEFAULT 0,
  outgoing_files  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);
COMMENT ON TABLE inbox_heads IS
  'The next seq is taken here, under the lock of this row, and not from the workspace''s row, which heartbeats rewrite all the '
  'time. Whoever writes anything of a workspace locks this row first, several of them in the order of their ids: that gives the '
  'log its order, makes the quota exact and leaves nothing to deadlock on. Rows are rewritten with every message: most of a page '
  'is left free for that.';
COMMENT ON COLUMN inbox_heads.staged_files IS
  'All uploads of the workspace, which is what the quota limits; the others say how many of them are in which state: fetched and '
  'failed ones are not acked, outgoing ones are in no state. Moved in the transaction that moves the rows.';

INSERT INTO inbox_heads (workspace_id) SELECT id FROM workspaces;

CREATE TABLE activity_logs (
  id            uuid NOT NULL,
  workspace_id  uuid NOT NULL,
  seq           bigint NOT NULL CHECK (seq > 0),
  activity_type text NOT NULL,
  source_id     uuid,
  target_id     uuid,
  method        text NOT NULL DEFAULT '',
  summary       text NOT NULL DEFAULT '',
  request_body  json,
  response_body json,
  status        text NOT NULL DEFAULT 'ok',
  error_detail  text,
  duration_ms   bigint,
  created_at    timestamptz NOT NULL DEFAULT now(),
  message_id    text,
  traceparent   text
);
COMMENT ON COLUMN activity_logs.seq IS 'Grows by commit order within a workspace; created_at never goes back along it.';

CREATE UNIQUE INDEX idx_activity_logs_workspace_seq ON activity_logs (workspace_id, seq);
CREATE UNIQUE INDEX idx_activity_logs_id ON activity_logs (id);

CREATE TABLE commit_marks (
  writer    uuid PRIMARY KEY,
  mark      bigint NOT NULL,
  marked_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 20);
COMMENT ON TABLE commit_marks IS
  'One row for each writing session of each server. A transaction begins by raising its writer''s mark and so holds the row''s '
  'lock until it ends: a server that lost its connection during COMMIT asks for the lock and reads how it ended.';
