"""What the end-to-end tests share. README.md in this folder shows how a test is written with it."""
