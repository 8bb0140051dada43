"""The models we are compared with, and comparisons."""
