-- oldest-binary: 6
-- Bytes that are no longer those that were staged, found so by a look at them. Whoever waits is told, and nobody is given
-- them from then on; the mark stays as long as the row does, and with what is told of the file after it.
-- An acked file is one that nobody waits for: of the figures in inbox_heads the quota limits the staged ones less the acked
-- ones.

ALTER TABLE pending_uploads ADD COLUMN damage TEXT CHECK (damage IN ('changed', 'missing'));
ALTER TABLE finished_uploads ADD COLUMN damage TEXT;

-- None, or a few among many; nothing else pays for this one.
CREATE INDEX idx_pending_uploads_damaged ON pending_uploads (expires_at) WHERE damage IS NOT NULL;
