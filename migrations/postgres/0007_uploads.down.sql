DROP TABLE dropped_blobs;
DROP TABLE finished_uploads;
DROP TABLE upload_contents;
DROP TABLE pending_uploads;
UPDATE inbox_heads SET staged_bytes = 0, staged_files = 0, fetched_bytes = 0, fetched_files = 0, failed_bytes = 0,
  failed_files = 0, acked_bytes = 0, acked_files = 0, outgoing_bytes = 0, outgoing_files = 0;
