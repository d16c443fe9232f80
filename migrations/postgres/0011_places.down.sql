DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key LIKE '%:%' OR twin_key IS NOT NULL) OR
     EXISTS (SELECT 1 FROM dropped_blobs WHERE blob_key LIKE '%:%') OR EXISTS (SELECT 1 FROM inline_blobs) THEN
    RAISE EXCEPTION 'there are bytes that an older binary cannot find: bring them back first (restante blobs migrate --to dir)';
  END IF;
END $$;
DROP TABLE blob_moves;
DROP TABLE blob_chunks;
DROP TABLE inline_blobs;
ALTER TABLE dropped_blobs DROP COLUMN dropped_at;
ALTER TABLE dropped_blobs ALTER COLUMN blob_key TYPE text;
DROP INDEX idx_pending_uploads_twin;
ALTER TABLE pending_uploads DROP COLUMN twin_key;
ALTER TABLE pending_uploads ALTER COLUMN blob_key TYPE text;
