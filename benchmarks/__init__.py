"""Benchmarks: ratios measured in one run, on this machine."""
