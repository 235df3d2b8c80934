"""From result files to tables, pages and what is published. Internal: ``offaxis-board`` is for users."""
