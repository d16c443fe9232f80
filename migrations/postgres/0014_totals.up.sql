-- oldest-binary: 11
-- What is asked for often must not take longer the more workspaces there are. Totals are counted by the database itself, as
-- delegation_counts is, so that no statement can forget them and a binary that does not know these tables keeps them right.

-- Another server may write meanwhile. What is open when the sums are taken would be counted neither there nor by a trigger.
LOCK TABLE inbox_heads, delegations IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE upload_totals (
  writer         bigint PRIMARY KEY,
  staged_files   bigint NOT NULL,
  staged_bytes   bigint NOT NULL,
  fetched_files  bigint NOT NULL,
  fetched_bytes  bigint NOT NULL,
  failed_files   bigint NOT NULL,
  failed_bytes   bigint NOT NULL,
  acked_files    bigint NOT NULL,
  acked_bytes    bigint NOT NULL,
  outgoing_files bigint NOT NULL,
  outgoing_bytes bigint NOT NULL
) WITH (fillfactor = 20);
COMMENT ON TABLE upload_totals IS
  'Their sum is the sum of the counts in inbox_heads. One row for each writing session, so that no writer waits for another; what ended sessions have counted is added up in row 0. A single row may be negative.';

INSERT INTO upload_totals
  SELECT 0, coalesce(sum(staged_files), 0), coalesce(sum(staged_bytes), 0), coalesce(sum(fetched_files), 0),
         coalesce(sum(fetched_bytes), 0), coalesce(sum(failed_files), 0), coalesce(sum(failed_bytes), 0),
         coalesce(sum(acked_files), 0), coalesce(sum(acked_bytes), 0), coalesce(sum(outgoing_files), 0),
         coalesce(sum(outgoing_bytes), 0)
  FROM inbox_heads;

-- For each statement: within one transaction every further change of a row costs more than the one before.
CREATE FUNCTION count_made_uploads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO upload_totals AS t
    SELECT pg_backend_pid(), sum(staged_files), sum(staged_bytes), sum(fetched_files), sum(fetched_bytes), sum(failed_files),
           sum(failed_bytes), sum(acked_files), sum(acked_bytes), sum(outgoing_files), sum(outgoing_bytes)
    FROM made WHERE staged_files <> 0 HAVING count(*) > 0
    ON CONFLICT (writer) DO UPDATE SET
      staged_files = t.staged_files + excluded.staged_files, staged_bytes = t.staged_bytes + excluded.staged_bytes,
      fetched_files = t.fetched_files + excluded.fetched_files, fetched_bytes = t.fetched_bytes + excluded.fetched_bytes,
      failed_files = t.failed_files + excluded.failed_files, failed_bytes = t.failed_bytes + excluded.failed_bytes,
      acked_files = t.acked_files + excluded.acked_files, acked_bytes = t.acked_bytes + excluded.acked_bytes,
      outgoing_files = t.outgoing_files + excluded.outgoing_files, outgoing_bytes = t.outgoing_bytes + excluded.outgoing_bytes;
  RETURN NULL;
END $$;
CREATE FUNCTION count_moved_uploads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO upload_totals AS t VALUES (pg_backend_pid(),
      NEW.staged_files - OLD.staged_files, NEW.staged_bytes - OLD.staged_bytes,
      NEW.fetched_files - OLD.fetched_files, NEW.fetched_bytes - OLD.fetched_bytes,
      NEW.failed_files - OLD.failed_files, NEW.failed_bytes - OLD.failed_bytes,
      NEW.acked_files - OLD.acked_files, NEW.acked_bytes - OLD.acked_bytes,
      NEW.outgoing_files - OLD.outgoing_files, NEW.outgoing_bytes - OLD.outgoing_bytes)
    ON CONFLICT (writer) DO UPDATE SET
      staged_files = t.staged_files + excluded.staged_files, staged_bytes = t.staged_bytes + excluded.staged_bytes,
      fetched_files = t.fetched_files + excluded.fetched_files, fetched_bytes = t.fetched_bytes + excluded.fetched_bytes,
      failed_files = t.failed_files + excluded.failed_files, failed_bytes = t.failed_bytes + excluded.failed_bytes,
      acked_files = t.acked_files + excluded.acked_files, acked_bytes = t.acked_bytes + excluded.acked_bytes,
      outgoing_files = t.outgoing_files + excluded.outgoing_files, outgoing_bytes = t.outgoing_bytes + excluded.outgoing_bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER upload_counts_made AFTER INSERT ON inbox_heads
  REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION count_made_uploads();
CREATE TRIGGER upload_counts_moved AFTER UPDATE OF
    staged_files, staged_bytes, fetched_files, fetched_bytes, failed_files, failed_bytes,
    acked_files, acked_bytes, outgoing_files, outgoing_bytes ON inbox_heads
  FOR EACH ROW WHEN (
    (NEW.staged_files, NEW.staged_bytes, NEW.fetched_files, NEW.fetched_bytes, NEW.failed_files,
    NEW.failed_bytes, NEW.acked_files, NEW.acked_bytes, NEW.outgoing_files, NEW.outgoing_bytes)
    IS DISTINCT FROM
    (OLD.staged_files, OLD.staged_bytes, OLD.fetched_files, OLD.fetched_bytes, OLD.failed_files,
    OLD.failed_bytes, OLD.acked_files, OLD.acked_bytes, OLD.outgoing_files, OLD.outgoing_bytes))
  EXECUTE FUNCTION count_moved_uploads();

CREATE TABLE delegation_totals (
  writer bigint NOT NULL,
  status text NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (writer, status)
) WITH (fillfactor = 20);
COMMENT ON TABLE delegation_totals IS 'The sums of delegation_counts, by writing session, as upload_totals.';

INSERT INTO delegation_totals SELECT 0, status, sum(number) FROM delegation_counts GROUP BY status;

CREATE FUNCTION total_made_delegations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delegation_totals AS t SELECT pg_backend_pid(), status, count(*) FROM made GROUP BY status
    ON CONFLICT (writer, status) DO UPDATE SET number = t.number + excluded.number;
  RETURN NULL;
END $$;
CREATE FUNCTION total_gone_delegations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delegation_totals AS t SELECT pg_backend_pid(), status, -count(*) FROM gone GROUP BY status
    ON CONFLICT (writer, status) DO UPDATE SET number = t.number + excluded.number;
  RETURN NULL;
END $$;
CREATE FUNCTION total_moved_delegations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delegation_totals AS t VALUES (pg_backend_pid(), OLD.status, -1), (pg_backend_pid(), NEW.status, 1)
    ON CONFLICT (writer, status) DO UPDATE SET number = t.number + excluded.number;
  RETURN NULL;
END $$;
CREATE TRIGGER delegation_totals_made AFTER INSERT ON delegations
  REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION total_made_delegations();
CREATE TRIGGER delegation_totals_gone AFTER DELETE ON delegations
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION total_gone_delegations();
CREATE TRIGGER delegation_totals_moved AFTER UPDATE OF status ON delegations
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION total_moved_delegations();

CREATE INDEX idx_pending_uploads_oldest ON pending_uploads (created_at) WHERE acked_at IS NULL AND direction = 'in';
COMMENT ON INDEX idx_pending_uploads_oldest IS 'Since when the oldest file waits, of all that wait.';

CREATE INDEX idx_workspaces_created ON workspaces (created_at, id);
CREATE INDEX idx_workspaces_parent ON workspaces (parent_id, created_at, id);
COMMENT ON INDEX idx_workspaces_parent IS 'Pages of the children of one; those without a parent have NULL.';
