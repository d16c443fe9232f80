-- oldest-binary: 8
-- How many delegations there are of each status: counting a million takes longer than anybody who watches should wait. Kept
-- by the database itself, so that no statement can forget it and a binary that does not know this table keeps it right.

CREATE TABLE delegation_counts (
  callee_id uuid NOT NULL,
  status    text NOT NULL,
  number    bigint NOT NULL,
  PRIMARY KEY (callee_id, status)
) WITH (fillfactor = 50);
COMMENT ON TABLE delegation_counts IS
  'By callee, because whoever changes a delegation holds the head of its callee: nobody waits for another here.';

INSERT INTO delegation_counts (callee_id, status, number)
  SELECT callee_id, status, count(*) FROM delegations GROUP BY callee_id, status;

CREATE FUNCTION count_made_delegations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delegation_counts AS c (callee_id, status, number)
    SELECT callee_id, status, count(*) FROM made GROUP BY callee_id, status ORDER BY callee_id, status
    ON CONFLICT (callee_id, status) DO UPDATE SET number = c.number + excluded.number;
  RETURN NULL;
END $$;
CREATE FUNCTION count_moved_delegation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE delegation_counts SET number = number - 1 WHERE callee_id = OLD.callee_id AND status = OLD.status;
  INSERT INTO delegation_counts AS c (callee_id, status, number) VALUES (NEW.callee_id, NEW.status, 1)
    ON CONFLICT (callee_id, status) DO UPDATE SET number = c.number + 1;
  RETURN NULL;
END $$;
CREATE FUNCTION count_gone_delegations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE delegation_counts c SET number = c.number - g.number
    FROM (SELECT callee_id, status, count(*) AS number FROM gone GROUP BY callee_id, status) AS g
    WHERE c.callee_id = g.callee_id AND c.status = g.status;
  RETURN NULL;
END $$;

CREATE TRIGGER delegation_made AFTER INSERT ON delegations
  REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION count_made_delegations();
CREATE TRIGGER delegation_moved AFTER UPDATE OF status ON delegations
  FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION count_moved_delegation();
CREATE TRIGGER delegation_gone AFTER DELETE ON delegations
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_gone_delegations();
