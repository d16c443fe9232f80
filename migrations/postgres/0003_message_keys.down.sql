DROP TABLE message_keys;
