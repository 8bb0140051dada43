"""The reference: Algorithm 1 of the paper, line by line, and a backend that all other backends are tested against."""
