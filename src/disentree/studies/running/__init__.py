"""Running a study: its list of runs, their processes, the folder and the report."""
