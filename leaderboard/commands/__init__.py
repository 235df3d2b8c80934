"""The command offaxis-board."""
