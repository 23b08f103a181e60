"""The version, which the build takes from git's tags."""

from importlib import metadata

try:
    __version__ = metadata.version("disentree")
except metadata.PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"
