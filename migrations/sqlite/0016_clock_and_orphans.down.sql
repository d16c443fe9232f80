DROP TABLE orphan_candidates;
DROP TABLE trial_writes;
DROP TABLE server_clock;
