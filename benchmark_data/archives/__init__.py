"""Published archives: fetched, read as streams, checked against published figures, and kept prepared.

Internal: datasets and the commands use it.
"""
