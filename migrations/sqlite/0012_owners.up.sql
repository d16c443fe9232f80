-- oldest-binary: 11
-- Bytes that lie outside of this database, in a directory or a bucket, carry a mark that says whose they are. Only what is
-- marked as ours is collected when no row knows it, and only there can something be called gone.

-- Who this post office is, made when a server first starts on it. Stays behind in a move: the new database is another one.
CREATE TABLE post_offices (
  id      INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  office  BLOB NOT NULL CHECK (length(office) = 16),
  setting TEXT NOT NULL CHECK (setting IN ('dir', 'inline', 's3'))  -- of `blobs`, at the latest start
) STRICT;

-- What is found in a place that is ours. Of another office: that of the database this one was moved from, whose heir it is.
CREATE TABLE place_marks (
  place  TEXT NOT NULL PRIMARY KEY CHECK (place IN ('dir', 's3')),
  office BLOB NOT NULL CHECK (length(office) = 16),
  mark   BLOB NOT NULL CHECK (length(mark) = 16)
) STRICT, WITHOUT ROWID;
