"""The papers' figures and tables, made again. Internal: ``offaxis study`` is for users."""
