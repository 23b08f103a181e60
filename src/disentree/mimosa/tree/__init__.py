"""From leaves to a tree: which encloses which, products of choices, codes within leaves."""
