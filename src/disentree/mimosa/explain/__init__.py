"""What was found, in words: facts, rules, names, sentences."""
