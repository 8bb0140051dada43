"""Edges in lakes: Parquet files or Dask frames that are read by partitions into sorted blocks."""
