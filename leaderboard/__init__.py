"""The judge: metrics, comparisons and tables, computed from arrays and files that anyone may have written."""

__all__ = ["analyses", "arrays", "comparisons", "figures", "metrics", "properties", "protocol", "reading", "scoring"]
