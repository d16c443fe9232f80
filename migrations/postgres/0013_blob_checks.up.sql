-- oldest-binary: 11
-- What the operator's last look at everything found, or how far the one under way is: the same on every server, and after a
-- restart. An older binary keeps its own in memory, which does no harm.
CREATE TABLE blob_checks (
  id           bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  state        text NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'failed')),
  mend         boolean NOT NULL,
  begun_at     timestamptz NOT NULL,
  worker       uuid NOT NULL,
  worker_until timestamptz NOT NULL,
  progress     text NOT NULL,
  findings     text NOT NULL,
  ended_at     timestamptz CHECK ((ended_at IS NULL) = (state = 'running'))
);
COMMENT ON TABLE blob_checks IS
  'The check of all bytes under way, or the last one. Running, and past worker_until: the server that did it is gone.';
COMMENT ON COLUMN blob_checks.findings IS 'JSON, the first thousand; progress is an object with the counts of all.';
