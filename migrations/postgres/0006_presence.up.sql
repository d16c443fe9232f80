-- oldest-binary: 5
ALTER TABLE workspaces ADD COLUMN usual_poll_gap bigint;
COMMENT ON COLUMN workspaces.usual_poll_gap IS
  'How the agent usually polls, so that its silence is noticed after a restart too. Microseconds from the end of one poll to the '
  'beginning of the next; NULL until it has polled twice.';

ALTER TABLE tokens ADD COLUMN opened_by uuid;
COMMENT ON COLUMN tokens.opened_by IS
  'Sessions end with the token they were opened with; NULL for those of the operator''s own token, which is in no table.';
CREATE INDEX idx_tokens_opened_by ON tokens (opened_by) WHERE opened_by IS NOT NULL;
