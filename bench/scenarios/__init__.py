"""One module a scenario. Each has run(options) → report.Section; bench/run lists them in order."""
