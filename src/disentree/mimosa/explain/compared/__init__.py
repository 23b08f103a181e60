"""Leaves set side by side: by column, and in a figure."""
