"""From result files to tables, pages and what is published."""
