"""What one looks at before training: distances between images, contact sheets."""
