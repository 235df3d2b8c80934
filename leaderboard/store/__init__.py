"""Result files: what they hold, how they are read, merged and written. Internal: its files are for users."""
