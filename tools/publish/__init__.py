"""Documents from results: numbers, tables and verdicts of README and docs/ are filled in from `results/`."""
