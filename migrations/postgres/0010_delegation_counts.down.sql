DROP TRIGGER delegation_gone ON delegations;
DROP TRIGGER delegation_moved ON delegations;
DROP TRIGGER delegation_made ON delegations;
DROP FUNCTION count_gone_delegations();
DROP FUNCTION count_moved_delegation();
DROP FUNCTION count_made_delegations();
DROP TABLE delegation_counts;
