-- oldest-binary: 6
ALTER TABLE pending_uploads ADD COLUMN damage text CHECK (damage IN ('changed', 'missing'));
ALTER TABLE finished_uploads ADD COLUMN damage text;
COMMENT ON COLUMN pending_uploads.damage IS
  'The bytes are no longer those that were staged, found so by a look at them. Whoever waits is told, and nobody is given them '
  'from then on; the mark stays as long as the row does, and with what is told of the file after it.';

CREATE INDEX idx_pending_uploads_damaged ON pending_uploads (expires_at) WHERE damage IS NOT NULL;
COMMENT ON INDEX idx_pending_uploads_damaged IS 'None, or a few among many; nothing else pays for this one.';
