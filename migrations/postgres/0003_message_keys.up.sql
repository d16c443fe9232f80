CREATE TABLE message_keys (
  workspace_id uuid NOT NULL,
  digest       bytea NOT NULL CHECK (octet_length(digest) = 32),
  seq          bigint NOT NULL,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (workspace_id, digest)
);
COMMENT ON TABLE message_keys IS
  'Which messages were taken already. The key is a digest over source, message id and content, so that one look-up answers '
  'however often an id was used with other content. created_at is for pruning, together with the rows.';
