-- oldest-binary: 11
-- Bytes that lie outside of this database, in a directory or a bucket, carry a mark that says whose they are. Only what is
-- marked as ours is collected when no row knows it, and only there can something be called gone.

CREATE TABLE post_offices (
  id      bigint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  office  uuid NOT NULL,
  setting text NOT NULL CHECK (setting IN ('dir', 'inline', 's3'))
);
COMMENT ON TABLE post_offices IS
  'Who this post office is, made when a server first starts on it. Stays behind in a move: the new database is another one.';
COMMENT ON COLUMN post_offices.setting IS 'Of `blobs`, at the latest start of a server.';

CREATE TABLE place_marks (
  place  text PRIMARY KEY CHECK (place IN ('dir', 's3')),
  office uuid NOT NULL,
  mark   uuid NOT NULL
);
COMMENT ON TABLE place_marks IS
  'What is found in a place that is ours. Of another office: that of the database this one was moved from, whose heir it is.';
