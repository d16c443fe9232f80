DROP TABLE pending_uploads;
UPDATE inbox_heads SET staged_bytes = 0, staged_files = 0;
