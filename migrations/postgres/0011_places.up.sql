-- oldest-binary: 11
-- Bytes may live in more than one place: a key says in which (a bare one is a file, inline:… rows of chunks, s3:… an object),
-- and while they move from one to another a row knows both. An older binary would take a foreign key for lost bytes.

-- Compared by bytes, so that the keys of one place are neighbours.
ALTER TABLE pending_uploads ALTER COLUMN blob_key TYPE text COLLATE "C";
ALTER TABLE pending_uploads ADD COLUMN twin_key text COLLATE "C" CHECK (twin_key IS NULL OR blob_key IS NOT NULL);
COMMENT ON COLUMN pending_uploads.twin_key IS
  'The same bytes in a second place, while they move from one to the other; read when the first cannot be.';
CREATE INDEX idx_pending_uploads_twin ON pending_uploads (twin_key) WHERE twin_key IS NOT NULL;

ALTER TABLE dropped_blobs ALTER COLUMN blob_key TYPE text COLLATE "C";
ALTER TABLE dropped_blobs ADD COLUMN dropped_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN dropped_blobs.dropped_at IS
  'Whoever reads a file keeps it open; what has no descriptor stays until nobody can be reading it any more.';

CREATE TABLE inline_blobs (
  blob_key   text COLLATE "C" PRIMARY KEY,
  chunks     bigint NOT NULL DEFAULT 0,
  size_bytes bigint NOT NULL DEFAULT 0,
  finished   boolean NOT NULL DEFAULT false,
  touched_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE inline_blobs IS
  'Bytes kept in this database. Not finished: somebody is writing it, or was until touched_at.';
CREATE INDEX idx_inline_blobs_unfinished ON inline_blobs (touched_at) WHERE NOT finished;

CREATE TABLE blob_chunks (
  blob_key text COLLATE "C" NOT NULL,
  number   bigint NOT NULL,
  bytes    bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 1048576),
  PRIMARY KEY (blob_key, number)
);
ALTER TABLE blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
COMMENT ON TABLE blob_chunks IS
  'A mebibyte each but the last. Stored as they are, outside of the row: a part of one is read without the rest.';

CREATE TABLE blob_moves (
  id         bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  from_place text NOT NULL CHECK (from_place IN ('dir', 'inline', 's3')),
  to_place   text NOT NULL CHECK (to_place IN ('dir', 'inline', 's3') AND to_place <> from_place),
  phase      text NOT NULL CHECK (phase IN ('both', 'finishing', 'finished')),
  rate       bigint NOT NULL CHECK (rate >= 0),
  begun_at   timestamptz NOT NULL,
  phase_at   timestamptz NOT NULL,
  worker     uuid,
  worker_until timestamptz
);
COMMENT ON TABLE blob_moves IS
  'The change-over under way, or the last one; what it says holds on every server, whatever its settings are.';
COMMENT ON COLUMN blob_moves.worker IS 'The server that copies, until worker_until unless it says so again.';
