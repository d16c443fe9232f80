CREATE TABLE inbound_secrets (
  workspace_id uuid PRIMARY KEY,
  sealed       bytea NOT NULL,
  updated_at   timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE inbound_secrets IS
  'What the platform shows to a push agent''s callback. The one secret that must be readable again, so it is sealed under the '
  'servers'' key file. A table of its own: heartbeats rewrite the workspace''s row all the time.';
