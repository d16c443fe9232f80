"""Helpers that the end-to-end tests share. README.md in this folder shows how to write a test with them."""
