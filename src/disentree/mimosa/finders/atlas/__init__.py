"""The atlas: curved leaves by overlapping charts."""
