"""The command offaxis data. Internal: the command is for users."""
