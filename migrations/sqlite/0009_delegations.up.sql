-- oldest-binary: 8
-- The ledger: tasks between agents, as they stand. activity_logs stays the truth of what happened; both are written in one
-- transaction. A server that does not find these tables delegates nothing and does everything else.

CREATE TABLE delegations (
  delegation_id   TEXT NOT NULL PRIMARY KEY CHECK (length(delegation_id) BETWEEN 1 AND 128),
  caller_id       BLOB NOT NULL CHECK (length(caller_id) = 16),
  callee_id       BLOB NOT NULL CHECK (length(callee_id) = 16),
  task_preview    TEXT NOT NULL CHECK (length(CAST(task_preview AS BLOB)) <= 4096),
  status          TEXT NOT NULL DEFAULT 'queued'
                  CHECK (status IN ('queued', 'dispatched', 'in_progress', 'completed', 'failed', 'stuck')),
  -- The task's own, not its agent's: by a heartbeat or an update. NULL until the first.
  last_heartbeat  INTEGER,
  -- created_at + 6 h unless the caller says otherwise; SQLite has no default that reads another column.
  deadline        INTEGER NOT NULL,
  result_preview  TEXT CHECK (length(CAST(result_preview AS BLOB)) <= 4096),
  error_detail    TEXT,
  retry_count     INTEGER NOT NULL DEFAULT 0,
  -- NULL when there is none, and once it is free again: at once with a failure, a day after completion.
  idempotency_key TEXT,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  -- The caller sent the task itself and reports on it.
  recorded        INTEGER NOT NULL DEFAULT 0 CHECK (recorded IN (0, 1)),
  -- Of the row in the callee's log that brings the task; NULL while its callback is asked, and for recorded ones.
  inbox_seq       INTEGER,
  progress        TEXT,
  progress_at     INTEGER,
  finished_at     INTEGER,
  retry_of        TEXT,
  parent_id       TEXT,
  depth           INTEGER NOT NULL DEFAULT 1,
  late_at         INTEGER,
  CHECK ((finished_at IS NOT NULL) = (status IN ('completed', 'failed', 'stuck')))
) STRICT;

CREATE INDEX idx_delegations_caller_created ON delegations (caller_id, created_at);
CREATE INDEX idx_delegations_callee_created ON delegations (callee_id, created_at);
CREATE UNIQUE INDEX idx_delegations_idempotency ON delegations (caller_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
-- What is under way is little among all that ever was: everything that asks for it alone has its index of those.
CREATE INDEX idx_delegations_inflight_heartbeat ON delegations (last_heartbeat)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
-- Picked up by agents that know no heartbeat of a task.
CREATE INDEX idx_delegations_unheard ON delegations (updated_at)
  WHERE status IN ('dispatched', 'in_progress') AND last_heartbeat IS NULL;
CREATE INDEX idx_delegations_inflight_deadline ON delegations (deadline)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
CREATE INDEX idx_delegations_inflight_caller ON delegations (caller_id, created_at)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
CREATE INDEX idx_delegations_inflight_callee ON delegations (callee_id, created_at)
  WHERE status IN ('queued', 'dispatched', 'in_progress');
-- Which tasks an ack has passed.
CREATE INDEX idx_delegations_queued ON delegations (callee_id, inbox_seq) WHERE status = 'queued';
-- Tasks whose callback was to be asked and which nobody has put anywhere.
CREATE INDEX idx_delegations_undelivered ON delegations (created_at)
  WHERE status = 'queued' AND inbox_seq IS NULL AND recorded = 0;
CREATE INDEX idx_delegations_final ON delegations (status, finished_at)
  WHERE status IN ('completed', 'failed', 'stuck');

-- Apart from their rows, so that a heartbeat does not write a megabyte again. Files are JSON.
CREATE TABLE delegation_texts (
  delegation_id TEXT NOT NULL PRIMARY KEY,
  task          TEXT NOT NULL,
  task_files    TEXT,
  result        TEXT,
  result_files  TEXT,
  late_answer   TEXT,
  late_files    TEXT
) STRICT;

CREATE TABLE delegation_steps (
  delegation_id TEXT NOT NULL,
  number        INTEGER NOT NULL,
  at            INTEGER NOT NULL,
  status        TEXT NOT NULL,
  made_by       TEXT NOT NULL CHECK (made_by IN ('caller', 'callee', 'platform')),
  late          INTEGER NOT NULL DEFAULT 0 CHECK (late IN (0, 1)),
  note          TEXT,
  PRIMARY KEY (delegation_id, number)
) STRICT, WITHOUT ROWID;
