DROP INDEX idx_tokens_expires;
DROP INDEX idx_tokens_revoked;
DROP TABLE silences;
