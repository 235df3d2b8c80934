"""What is made of a finished run: codes, pictures, the hidden variable of perturbed datasets."""
