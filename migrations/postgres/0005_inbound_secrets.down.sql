DROP TABLE inbound_secrets;
