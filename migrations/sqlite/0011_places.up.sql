-- oldest-binary: 11
-- Bytes may live in more than one place: a key says in which (a bare one is a file, inline:… rows of chunks, s3:… an object),
-- and while they move from one to another a row knows both. An older binary would take a foreign key for lost bytes.

-- The same bytes in a second place, while they move from one to the other; read when the first cannot be.
ALTER TABLE pending_uploads ADD COLUMN twin_key TEXT CHECK (twin_key IS NULL OR blob_key IS NOT NULL);
CREATE INDEX idx_pending_uploads_twin ON pending_uploads (twin_key) WHERE twin_key IS NOT NULL;

-- Whoever reads a file keeps it open; what has no descriptor stays until nobody can be reading it any more.
ALTER TABLE dropped_blobs ADD COLUMN dropped_at INTEGER NOT NULL DEFAULT 0;

-- Bytes kept in this database. Not finished: somebody is writing it, or was until touched_at.
CREATE TABLE inline_blobs (
  blob_key   TEXT NOT NULL PRIMARY KEY,
  chunks     INTEGER NOT NULL DEFAULT 0,
  size_bytes INTEGER NOT NULL DEFAULT 0,
  finished   INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
  touched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_inline_blobs_unfinished ON inline_blobs (touched_at) WHERE finished = 0;

-- A mebibyte each but the last.
CREATE TABLE blob_chunks (
  blob_key TEXT NOT NULL,
  number   INTEGER NOT NULL,
  bytes    BLOB NOT NULL CHECK (length(bytes) BETWEEN 1 AND 1048576),
  UNIQUE (blob_key, number)
) STRICT;

-- The change-over under way, or the last one; what it says holds, whatever the settings are.
CREATE TABLE blob_moves (
  id           INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  from_place   TEXT NOT NULL CHECK (from_place IN ('dir', 'inline', 's3')),
  to_place     TEXT NOT NULL CHECK (to_place IN ('dir', 'inline', 's3') AND to_place <> from_place),
  phase        TEXT NOT NULL CHECK (phase IN ('both', 'finishing', 'finished')),
  rate         INTEGER NOT NULL CHECK (rate >= 0),
  begun_at     INTEGER NOT NULL,
  phase_at     INTEGER NOT NULL,
  worker       BLOB CHECK (worker IS NULL OR length(worker) = 16),
  worker_until INTEGER
) STRICT;
