"""The search: finders are asked, the judge scores, one rule chooses."""
