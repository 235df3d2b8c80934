"""Objectives, one file each: the file name is the objective's name."""
