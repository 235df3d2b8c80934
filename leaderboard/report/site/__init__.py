"""The pages of the board. Internal."""
