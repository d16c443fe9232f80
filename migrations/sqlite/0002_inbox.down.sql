DROP TABLE message_keys;
DROP TABLE activity_logs;
DROP TABLE inbox_heads;
