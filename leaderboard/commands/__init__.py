"""The command offaxis board. Internal: the command is for users."""
