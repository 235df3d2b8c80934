"""References, one file each: the file name is the reference's name."""
