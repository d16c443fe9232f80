DROP INDEX idx_delegation_texts_files;
DROP TRIGGER delegation_gone;
DROP TRIGGER delegation_moved;
DROP TRIGGER delegation_made;
DROP TABLE delegation_counts;
