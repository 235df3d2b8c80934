"""Files of any framework, read without unpickling."""
