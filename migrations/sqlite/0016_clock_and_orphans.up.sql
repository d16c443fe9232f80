-- oldest-binary: 11
-- What a start needs to know about the time before it: the newest time that a server has trusted, and since when blobs have no
-- row. An older binary uses none of these tables, which does no harm.

-- The newest time that a server has trusted. A start whose clock is far from it deletes nothing by age.
CREATE TABLE server_clock (
  id      INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  seen_at INTEGER NOT NULL
) STRICT;

-- So that the first start with this table compares, too.
INSERT INTO server_clock (seen_at)
  SELECT seen FROM (SELECT max((SELECT coalesce(max(last_created_at), 0) FROM inbox_heads),
                               (SELECT coalesce(max(updated_at), 0) FROM workspaces)) AS seen) WHERE seen > 0;

-- Changed only to find out whether a write succeeds.
CREATE TABLE trial_writes (
  id     INTEGER PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT;

-- Blobs that the sweep found without a row, and since when.
CREATE TABLE orphan_candidates (
  blob_key TEXT NOT NULL PRIMARY KEY,
  since    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
