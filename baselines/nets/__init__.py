"""Networks: the backend, encoders and decoders, and reconstruction losses. Internal, except for `backend`."""
