-- oldest-binary: 11
-- Since when an agent is reported as silent; NULL: it is not. In the database, so that servers on one database report a silence
-- once, and a restart does not report it again.
ALTER TABLE workspaces ADD COLUMN silent_since INTEGER;

-- An agent that is offline became silent before.
UPDATE workspaces SET silent_since = last_poll_at WHERE status = 'offline' AND delivery_mode = 'poll' AND last_poll_at IS NOT NULL;

-- Every few seconds a server looks for agents that are not seen any more and for those that do not poll any more. It looks at
-- agents that are active. No index has the time of a poll: then every poll would have to change it.
CREATE INDEX idx_workspaces_online ON workspaces (status) WHERE status IN ('online', 'degraded');
CREATE INDEX idx_workspaces_polling ON workspaces (delivery_mode)
  WHERE last_poll_at IS NOT NULL AND silent_since IS NULL AND status <> 'removed';
CREATE INDEX idx_workspaces_silent ON workspaces (silent_since) WHERE silent_since IS NOT NULL AND status <> 'removed';

-- Tokens and sessions that ended long ago leave.
CREATE INDEX idx_tokens_revoked ON tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX idx_tokens_expires ON tokens (expires_at) WHERE expires_at IS NOT NULL;
