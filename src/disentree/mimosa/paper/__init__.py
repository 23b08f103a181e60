"""The MIMOSA of the paper: Algorithms 1 and 3 to 7, one file each, with the settings of its appendix.

Where the text and the published code differ, this follows what the published numbers were computed with;
docs/mimosa.md lists the differences.
"""
