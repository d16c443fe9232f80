-- Refused while there are bytes that an older binary cannot find.
CREATE TABLE nothing_elsewhere (rows INTEGER NOT NULL) STRICT;
CREATE TRIGGER something_elsewhere BEFORE INSERT ON nothing_elsewhere WHEN new.rows > 0 BEGIN
  SELECT RAISE (ABORT, 'there are bytes that an older binary cannot find: bring them back first (restante blobs migrate --to dir)');
END;
INSERT INTO nothing_elsewhere SELECT count(*) FROM pending_uploads WHERE blob_key LIKE '%:%' OR twin_key IS NOT NULL;
INSERT INTO nothing_elsewhere SELECT count(*) FROM dropped_blobs WHERE blob_key LIKE '%:%';
INSERT INTO nothing_elsewhere SELECT count(*) FROM inline_blobs;
DROP TABLE nothing_elsewhere;
DROP TABLE blob_moves;
DROP TABLE blob_chunks;
DROP TABLE inline_blobs;
ALTER TABLE dropped_blobs DROP COLUMN dropped_at;
DROP INDEX idx_pending_uploads_twin;
ALTER TABLE pending_uploads DROP COLUMN twin_key;
