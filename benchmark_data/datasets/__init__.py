"""One file per dataset. The file name is the name; each ends in ``DATASET``."""
