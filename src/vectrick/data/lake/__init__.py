"""Edges that are not read yet: lakes of Parquet files and Dask frames, read by partitions into sorted blocks."""
