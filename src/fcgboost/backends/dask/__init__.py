"""The rows of a Dask cluster, and its workers."""
