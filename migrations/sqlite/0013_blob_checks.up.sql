-- oldest-binary: 11
-- What the operator's last look at everything found, or how far the one under way is, also after a restart. An older binary
-- keeps its own in memory, which does no harm.

-- Running, and of another worker: the server that did it is gone. Findings are JSON, the first thousand; progress is an object
-- with the counts of all.
CREATE TABLE blob_checks (
  id           INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  state        TEXT NOT NULL CHECK (state IN ('running', 'done', 'stopped', 'failed')),
  mend         INTEGER NOT NULL CHECK (mend IN (0, 1)),
  begun_at     INTEGER NOT NULL,
  worker       BLOB NOT NULL CHECK (length(worker) = 16),
  worker_until INTEGER NOT NULL,
  progress     TEXT NOT NULL,
  findings     TEXT NOT NULL,
  ended_at     INTEGER CHECK ((ended_at IS NULL) = (state = 'running'))
) STRICT;
