"""Published archives: fetched, read as streams, checked against published figures, and kept prepared."""
