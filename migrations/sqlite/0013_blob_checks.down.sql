DROP TABLE blob_checks;
