DROP TABLE delegation_steps;
DROP TABLE delegation_texts;
DROP TABLE delegations;
