-- oldest-binary: 6
-- Files on their way to an agent, or from one. A server that does not find these tables stages nothing and does everything else.

CREATE TABLE pending_uploads (
  file_id      uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  blob_key     text,
  size_bytes   bigint NOT NULL CHECK (size_bytes > 0 AND size_bytes <= 26214400),
  filename     text NOT NULL CHECK (length(filename) BETWEEN 1 AND 100),
  mimetype     text NOT NULL DEFAULT '',
  sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
  direction    text NOT NULL DEFAULT 'in' CHECK (direction IN ('in', 'out')),
  staged_by    uuid,
  source_id    uuid,
  created_at   timestamptz NOT NULL DEFAULT now(),
  fetched_at   timestamptz,
  acked_at     timestamptz,
  failed_at    timestamptz,
  reason       text CHECK (octet_length(reason) <= 500),
  expires_at   timestamptz NOT NULL DEFAULT now() + interval '24 hours',
  position     bigint NOT NULL GENERATED ALWAYS AS IDENTITY
) WITH (fillfactor = 70);
COMMENT ON TABLE pending_uploads IS
  'A row is a promise that its bytes can be read: in Blobs under blob_key or, small ones without a key, in upload_contents.';
COMMENT ON COLUMN pending_uploads.staged_by IS 'The sender''s token; NULL for the operator and the agent itself.';
COMMENT ON COLUMN pending_uploads.source_id IS
  'The agent whose message brought it: not a part of the chat with people.';
COMMENT ON COLUMN pending_uploads.failed_at IS 'The agent could not take it; reason says why.';
COMMENT ON COLUMN pending_uploads.position IS 'Keeps the order in which the files of one batch came.';

CREATE INDEX idx_pending_uploads_workspace_unacked ON pending_uploads (workspace_id, created_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_expires ON pending_uploads (expires_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_acked ON pending_uploads (acked_at) WHERE acked_at IS NOT NULL;
CREATE INDEX idx_pending_uploads_failed ON pending_uploads (expires_at) WHERE failed_at IS NOT NULL AND acked_at IS NULL;
COMMENT ON INDEX idx_pending_uploads_failed IS 'Failures are few among many; nothing else pays for this one.';
CREATE INDEX idx_pending_uploads_blob ON pending_uploads (blob_key) WHERE blob_key IS NOT NULL;
COMMENT ON INDEX idx_pending_uploads_blob IS 'Rows may share their bytes, which leave with the last of them.';

CREATE TABLE upload_contents (
  file_id uuid PRIMARY KEY,
  content bytea NOT NULL CHECK (octet_length(content) BETWEEN 1 AND 16384)
);
ALTER TABLE upload_contents ALTER COLUMN content SET STORAGE EXTERNAL;
COMMENT ON TABLE upload_contents IS
  'Apart from their rows, so that an ack does not write them again; stored as they are, because most files do not get smaller.';

CREATE TABLE finished_uploads (
  file_id      uuid PRIMARY KEY,
  workspace_id uuid NOT NULL,
  size_bytes   bigint NOT NULL,
  filename     text NOT NULL,
  mimetype     text NOT NULL,
  sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
  direction    text NOT NULL,
  staged_by    uuid,
  source_id    uuid,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  fetched_at   timestamptz,
  acked_at     timestamptz,
  failed_at    timestamptz,
  reason       text,
  outcome      text NOT NULL CHECK (outcome IN ('acked', 'expired', 'recalled')),
  ended_at     timestamptz NOT NULL
);
COMMENT ON TABLE finished_uploads IS 'What became of files whose rows have left.';
CREATE INDEX idx_finished_uploads_ended ON finished_uploads (ended_at);

CREATE TABLE dropped_blobs (
  blob_key text PRIMARY KEY
);
COMMENT ON TABLE dropped_blobs IS 'Bytes in Blobs that no row needs any more, until they are deleted there.';
