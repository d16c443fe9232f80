-- Requests that were claimed by an Idempotency-Key and what they were answered. The row commits with the effect, so a
-- repeated request finds either both or neither.
CREATE TABLE idempotency_keys (
  scope      BLOB NOT NULL PRIMARY KEY CHECK (length(scope) = 32),  -- digest of principal, route and key
  request    BLOB NOT NULL CHECK (length(request) = 32),            -- digest of what was asked
  answer     TEXT NOT NULL,                                         -- never holds a secret
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_idempotency_keys_expires ON idempotency_keys (expires_at);
