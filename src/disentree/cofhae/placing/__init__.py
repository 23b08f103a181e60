"""Where variables stand that networks have on each branch: which do the same, and codes in which they are one."""
