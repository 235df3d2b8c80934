"""What is made of a finished run: codes, pictures, the hidden variable of perturbed datasets.

Internal: `baselines.Run` and ``offaxis train`` are for users.
"""
