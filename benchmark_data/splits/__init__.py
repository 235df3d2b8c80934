"""Split rules, one file each: how the rows of a dataset are divided into rows to train on and rows to test on."""
