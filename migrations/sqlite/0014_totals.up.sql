-- oldest-binary: 11
-- What is asked for often must not take longer the more workspaces there are. Totals are counted by the database itself, as
-- delegation_counts is, so that no statement can forget them and a binary that does not know these tables keeps them right.

-- The sums of the counts in inbox_heads.
CREATE TABLE upload_totals (
  id             INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  staged_files   INTEGER NOT NULL,
  staged_bytes   INTEGER NOT NULL,
  fetched_files  INTEGER NOT NULL,
  fetched_bytes  INTEGER NOT NULL,
  failed_files   INTEGER NOT NULL,
  failed_bytes   INTEGER NOT NULL,
  acked_files    INTEGER NOT NULL,
  acked_bytes    INTEGER NOT NULL,
  outgoing_files INTEGER NOT NULL,
  outgoing_bytes INTEGER NOT NULL
) STRICT;

INSERT INTO upload_totals
  SELECT 1, coalesce(sum(staged_files), 0), coalesce(sum(staged_bytes), 0), coalesce(sum(fetched_files), 0),
         coalesce(sum(fetched_bytes), 0), coalesce(sum(failed_files), 0), coalesce(sum(failed_bytes), 0),
         coalesce(sum(acked_files), 0), coalesce(sum(acked_bytes), 0), coalesce(sum(outgoing_files), 0),
         coalesce(sum(outgoing_bytes), 0)
  FROM inbox_heads;

CREATE TRIGGER upload_counts_made AFTER INSERT ON inbox_heads
WHEN NEW.staged_files <> 0 BEGIN
  UPDATE upload_totals SET
    staged_files = staged_files + NEW.staged_files, staged_bytes = staged_bytes + NEW.staged_bytes,
    fetched_files = fetched_files + NEW.fetched_files, fetched_bytes = fetched_bytes + NEW.fetched_bytes,
    failed_files = failed_files + NEW.failed_files, failed_bytes = failed_bytes + NEW.failed_bytes,
    acked_files = acked_files + NEW.acked_files, acked_bytes = acked_bytes + NEW.acked_bytes,
    outgoing_files = outgoing_files + NEW.outgoing_files, outgoing_bytes = outgoing_bytes + NEW.outgoing_bytes;
END;
CREATE TRIGGER upload_counts_moved AFTER UPDATE OF
  staged_files, staged_bytes, fetched_files, fetched_bytes, failed_files, failed_bytes, acked_files, acked_bytes,
  outgoing_files, outgoing_bytes ON inbox_heads BEGIN
  UPDATE upload_totals SET
    staged_files = staged_files + NEW.staged_files - OLD.staged_files,
    staged_bytes = staged_bytes + NEW.staged_bytes - OLD.staged_bytes,
    fetched_files = fetched_files + NEW.fetched_files - OLD.fetched_files,
    fetched_bytes = fetched_bytes + NEW.fetched_bytes - OLD.fetched_bytes,
    failed_files = failed_files + NEW.failed_files - OLD.failed_files,
    failed_bytes = failed_bytes + NEW.failed_bytes - OLD.failed_bytes,
    acked_files = acked_files + NEW.acked_files - OLD.acked_files,
    acked_bytes = acked_bytes + NEW.acked_bytes - OLD.acked_bytes,
    outgoing_files = outgoing_files + NEW.outgoing_files - OLD.outgoing_files,
    outgoing_bytes = outgoing_bytes + NEW.outgoing_bytes - OLD.outgoing_bytes;
END;

-- The sums of delegation_counts.
CREATE TABLE delegation_totals (
  status TEXT NOT NULL PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO delegation_totals SELECT status, sum(number) FROM delegation_counts GROUP BY status;

CREATE TRIGGER delegation_counts_made AFTER INSERT ON delegation_counts BEGIN
  INSERT INTO delegation_totals (status, number) VALUES (NEW.status, NEW.number)
    ON CONFLICT DO UPDATE SET number = number + excluded.number;
END;
CREATE TRIGGER delegation_counts_moved AFTER UPDATE OF number ON delegation_counts BEGIN
  UPDATE delegation_totals SET number = number + NEW.number - OLD.number WHERE status = NEW.status;
END;

-- Since when the oldest file waits, of all that wait.
CREATE INDEX idx_pending_uploads_oldest ON pending_uploads (created_at) WHERE acked_at IS NULL AND direction = 'in';

-- Pages of all workspaces, and of the children of one; those without a parent have NULL.
CREATE INDEX idx_workspaces_created ON workspaces (created_at, id);
CREATE INDEX idx_workspaces_parent ON workspaces (parent_id, created_at, id);
