DROP TABLE tokens;
DROP TABLE workspaces;
