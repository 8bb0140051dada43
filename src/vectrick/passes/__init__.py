"""Passes over edges in blocks: what is made of each block, and the engines that run over all of them."""
