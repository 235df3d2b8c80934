"""Comparisons of two representations of the same samples, and of whole sets of them."""
