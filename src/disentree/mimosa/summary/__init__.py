"""What was found, on one screen: one object, rendered as sentences, text, Markdown, HTML and JSON."""
