"""The paper's experiments, one module for each result; ``python -m experiments --help``."""
