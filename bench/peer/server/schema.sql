-- pending_uploads and its two partial indexes are those of the design; the other three tables are the minimum that it needs.
CREATE TABLE workspaces (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name          text NOT NULL DEFAULT '',
    status        text NOT NULL DEFAULT 'online',
    delivery_mode text NOT NULL DEFAULT 'poll'
);

CREATE TABLE workspace_auth_tokens (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id uuid NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    token_hash   bytea NOT NULL UNIQUE,
    prefix       text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    revoked_at   timestamptz
);
CREATE INDEX workspace_auth_tokens_live_idx ON workspace_auth_tokens (workspace_id) WHERE revoked_at IS NULL;

CREATE TABLE activity_logs (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id  uuid NOT NULL REFERENCES workspaces(id) ON DELETE CASCADE,
    activity_type text NOT NULL,
    source_id     uuid,
    target_id     uuid,
    method        text,
    summary       text,
    request_body  jsonb,
    response_body jsonb,
    duration_ms   integer,
    status        text NOT NULL DEFAULT 'ok',
    error_detail  text,
    created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idx_activity_ws_created ON activity_logs (workspace_id, created_at DESC);
CREATE INDEX idx_activity_ws_type ON activity_logs (workspace_id, activity_type);

CREATE TABLE pending_uploads (
    file_id      uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    workspace_id uuid NOT NULL,
    content      bytea NOT NULL,
    size_bytes   bigint NOT NULL CHECK (size_bytes > 0 AND size_bytes <= 26214400),
    filename     text NOT NULL CHECK (length(filename) > 0 AND length(filename) <= 100),
    mimetype     text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    fetched_at   timestamptz,
    acked_at     timestamptz,
    expires_at   timestamptz NOT NULL DEFAULT (now() + interval '24 hours')
);
CREATE INDEX idx_pending_uploads_workspace_unacked ON pending_uploads (workspace_id, created_at) WHERE acked_at IS NULL;
CREATE INDEX idx_pending_uploads_expires ON pending_uploads (expires_at) WHERE acked_at IS NULL;
