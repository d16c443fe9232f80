DROP INDEX idx_tokens_expires;
DROP INDEX idx_tokens_revoked;
DROP INDEX idx_workspaces_silent;
DROP INDEX idx_workspaces_polling;
DROP INDEX idx_workspaces_online;
ALTER TABLE workspaces DROP COLUMN silent_since;
