-- oldest-binary: 8
-- How many delegations there are of each status: counting a million takes longer than anybody who watches should wait. Kept
-- by the database itself, so that no statement can forget it and a binary that does not know this table keeps it right.

CREATE TABLE delegation_counts (
  callee_id BLOB NOT NULL CHECK (length(callee_id) = 16),
  status    TEXT NOT NULL,
  number    INTEGER NOT NULL,
  PRIMARY KEY (callee_id, status)
) STRICT, WITHOUT ROWID;

INSERT INTO delegation_counts (callee_id, status, number)
  SELECT callee_id, status, count(*) FROM delegations GROUP BY callee_id, status;

CREATE TRIGGER delegation_made AFTER INSERT ON delegations BEGIN
  INSERT INTO delegation_counts (callee_id, status, number) VALUES (NEW.callee_id, NEW.status, 1)
    ON CONFLICT DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER delegation_moved AFTER UPDATE OF status ON delegations WHEN NEW.status <> OLD.status BEGIN
  UPDATE delegation_counts SET number = number - 1 WHERE callee_id = OLD.callee_id AND status = OLD.status;
  INSERT INTO delegation_counts (callee_id, status, number) VALUES (NEW.callee_id, NEW.status, 1)
    ON CONFLICT DO UPDATE SET number = number + 1;
END;
CREATE TRIGGER delegation_gone AFTER DELETE ON delegations BEGIN
  UPDATE delegation_counts SET number = number - 1 WHERE callee_id = OLD.callee_id AND status = OLD.status;
END;

-- The files of a task without its text, which may be a megabyte: every list says whether a file is waited for.
CREATE INDEX idx_delegation_texts_files ON delegation_texts (delegation_id, task_files) WHERE task_files IS NOT NULL;
