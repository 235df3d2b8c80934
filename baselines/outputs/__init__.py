"""Outputs of finished runs: codes, pictures, ONNX encoders, the hidden variable of perturbed datasets.

Internal: `baselines.Run` and ``offaxis train`` are for users.
"""
