"""The files of a run folder: formats, schemas, integrity."""
