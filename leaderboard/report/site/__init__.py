"""The board's pages. Internal."""
