"""The groups `train` and `study` of the program `offaxis`. Internal: the commands are for users."""
