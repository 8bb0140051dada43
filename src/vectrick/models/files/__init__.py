"""Fitted functions as files: a container of a JSON header and tensors, written and read without ever running code."""
