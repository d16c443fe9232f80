"""One module for each scenario. Each has run(options) → report.Section; bench/run lists them in order."""
