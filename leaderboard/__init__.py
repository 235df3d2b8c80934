"""The judge: metrics, comparisons and tables, computed from arrays and files that anyone may have written."""
