ALTER TABLE tokens DROP COLUMN opened_by;
ALTER TABLE workspaces DROP COLUMN usual_poll_gap;
