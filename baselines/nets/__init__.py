"""Networks: the backend, encoders and decoders, and what a decoder's output means. Internal, but for `backend`."""
