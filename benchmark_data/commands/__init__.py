"""The command offaxis-data."""
