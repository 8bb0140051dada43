"""The reference: Algorithm 1 of the paper, line by line, also as a backend that every other one is tested against."""
