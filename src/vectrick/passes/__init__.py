"""Passes over edges in blocks: the tasks for each block, and the engines that run them on all blocks."""
