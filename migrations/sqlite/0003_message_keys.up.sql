-- Which messages were taken already. The key is a digest over source, message id and content, so that one look-up answers
-- however often an id was used with other content. created_at is for pruning, together with the rows.
CREATE TABLE message_keys (
  workspace_id BLOB NOT NULL CHECK (length(workspace_id) = 16),
  digest       BLOB NOT NULL CHECK (length(digest) = 32),
  seq          INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, digest)
) STRICT, WITHOUT ROWID;
