-- oldest-binary: 8
-- The ledger: tasks between agents, as they stand. A server that does not find these tables delegates nothing and does
-- everything else.

CREATE TABLE delegations (
  delegation_id   text PRIMARY KEY CHECK (length(delegation_id) BETWEEN 1 AND 128),
  caller_id       uuid NOT NULL,
  callee_id       uuid NOT NULL,
  task_preview    text NOT NULL CHECK (octet_length(task_preview) <= 4096),
  status          text NOT NULL DEFAULT 'queued'
                  CHECK (status IN ('queued', 'dispatched', 'in_progress', 'completed', 'failed', 'stuck')),
  last_heartbeat  timestamptz,
  deadline        timestamptz NOT NULL DEFAULT now() + interval '6 hours',
  result_preview  text CHECK (octet_length(result_preview) <= 4096),
  error_detail    text,
  retry_count     bigint NOT NULL DEFAULT 0,
  idempotency_key text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  recorded        bigint NOT NULL DEFAULT 0 CHECK (recorded IN (0, 1)),
  inbox_seq       bigint,
  progress        text,
  progress_at     timestamptz,
  finished_at     timestamptz,
  retry_of        text,
  parent_id       text,
  depth           bigint NOT NULL DEFAULT 1,
  late_at         timestamptz,
  CHECK ((finished_at IS NOT NULL) = (status IN ('completed', 'failed', 'stuck')))
) WITH (fillfactor = 70);
COMMENT ON TABLE delegations IS
  'activity_logs stays the truth of what happened; both are written in one transaction. Whoever changes a row holds the head of '
  'its callee, and whoever adds one or ends one that of its caller, too.';
COMMENT ON COLUMN delegations.last_heartbeat IS
  'The task''s own, not its agent''s: by a heartbeat or an update. NULL until the first.';
COMMENT ON COLUMN delegations.idempotency_key IS
  'NULL when there is none, and once it is free again: at once with a failure, a day after completion.';
COMMENT ON COLUMN delegations.recorded IS 'The caller sent the task itself and reports on it.';
COMMENT ON COLUMN delegations.inbox_seq IS
  'Of the row in the callee''s log that brings the task; NULL while its callback is asked, and for recorded ones.';

CREATE INDEX idx_delegations_caller_created ON delegations (caller_id, created_at);
CREATE INDEX idx_delegations_callee_created ON delegations (callee_id, created_at);
CREATE UNIQUE INDEX idx_delegations_idempotency ON delegations (caller_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX idx_delegations_inflight_heartbeat ON delegations (last_heartbeat)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
COMMENT ON INDEX idx_delegations_inflight_heartbeat IS
  'What is under way is little among all that ever was: everything that asks for it alone has its index of those.';
CREATE INDEX idx_delegations_unheard ON delegations (updated_at)
  WHERE status IN ('dispatched', 'in_progress') AND last_heartbeat IS NULL;
COMMENT ON INDEX idx_delegations_unheard IS 'Picked up by agents that know no heartbeat of a task.';
CREATE INDEX idx_delegations_inflight_deadline ON delegations (deadline)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
CREATE INDEX idx_delegations_inflight_caller ON delegations (caller_id, created_at)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
CREATE INDEX idx_delegations_inflight_callee ON delegations (callee_id, created_at)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
CREATE INDEX idx_delegations_queued ON delegations (callee_id, inbox_seq) WHERE status = 'queued';
COMMENT ON INDEX idx_delegations_queued IS 'Which tasks an ack has passed.';
CREATE INDEX idx_delegations_undelivered ON delegations (created_at)
  WHERE status = 'queued' AND inbox_seq IS NULL AND recorded = 0;
COMMENT ON INDEX idx_delegations_undelivered IS
  'Tasks whose callback was to be asked and which nobody has put anywhere.';
CREATE INDEX idx_delegations_final ON delegations (status, finished_at)
  WHERE status IN ('completed', 'failed', 'stuck');

CREATE TABLE delegation_texts (
  delegation_id text PRIMARY KEY,
  task          text NOT NULL,
  task_files    text,
  result        text,
  result_files  text,
  late_answer   text,
  late_files    text
);
COMMENT ON TABLE delegation_texts IS
  'Apart from their rows, so that what is read often stays small. Files are JSON.';

CREATE TABLE delegation_steps (
  delegation_id text NOT NULL,
  number        bigint NOT NULL,
  at            timestamptz NOT NULL,
  status        text NOT NULL,
  made_by       text NOT NULL CHECK (made_by IN ('caller', 'callee', 'platform')),
  late          bigint NOT NULL DEFAULT 0 CHECK (late IN (0, 1)),
  note          text,
  PRIMARY KEY (delegation_id, number)
);
COMMENT ON TABLE delegation_steps IS 'What became of a delegation, line by line.';
