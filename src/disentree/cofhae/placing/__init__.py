"""Codes in which variables that networks have on each branch, and that do the same there, are one."""
