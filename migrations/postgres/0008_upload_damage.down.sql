ALTER TABLE finished_uploads DROP COLUMN damage;
ALTER TABLE pending_uploads DROP COLUMN damage;
