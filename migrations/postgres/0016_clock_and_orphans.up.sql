-- oldest-binary: 11
-- What a start needs to know about the time before it: the newest time that a server has trusted, and since when blobs have no
-- row. An older binary uses none of these tables, which does no harm.
CREATE TABLE server_clock (
  id      bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  seen_at timestamptz NOT NULL
);
COMMENT ON TABLE server_clock IS
  'The newest time that a server has trusted. A start whose clock is far from it deletes nothing by age.';

-- So that the first start with this table compares, too.
INSERT INTO server_clock (seen_at)
  SELECT seen FROM (SELECT greatest((SELECT max(last_created_at) FROM inbox_heads),
                                    (SELECT max(updated_at) FROM workspaces)) AS seen) AS newest
  WHERE seen > to_timestamp(0);

CREATE TABLE trial_writes (
  id     bigint PRIMARY KEY,
  number bigint NOT NULL
);
COMMENT ON TABLE trial_writes IS 'Changed only to find out whether a write succeeds.';

CREATE TABLE orphan_candidates (
  blob_key text PRIMARY KEY,
  since    timestamptz NOT NULL
);
COMMENT ON TABLE orphan_candidates IS 'Blobs that the sweep found without a row, and since when.';
