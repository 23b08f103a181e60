"""Subcommands of `disentree`, one function per file. They import what they need when they run."""
