CREATE TABLE idempotency_keys (
  scope      bytea PRIMARY KEY CHECK (octet_length(scope) = 32),
  request    bytea NOT NULL CHECK (octet_length(request) = 32),
  answer     text NOT NULL,
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE idempotency_keys IS
  'Requests that were claimed by an Idempotency-Key and what they were answered. The row commits with the effect, so a repeated '
  'request finds either both or neither.';
COMMENT ON COLUMN idempotency_keys.scope IS 'Digest of principal, route and key.';
COMMENT ON COLUMN idempotency_keys.request IS 'Digest of what was asked.';
COMMENT ON COLUMN idempotency_keys.answer IS 'Never holds a secret.';

CREATE INDEX idx_idempotency_keys_expires ON idempotency_keys (expires_at);
