"""From codes to scores."""
