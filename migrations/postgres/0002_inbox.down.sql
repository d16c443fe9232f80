DROP TABLE commit_marks;
DROP TABLE activity_logs;
DROP TABLE inbox_heads;
