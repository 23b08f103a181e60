"""The user's own data: tables, arrays and folders of images."""
