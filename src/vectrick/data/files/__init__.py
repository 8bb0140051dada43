"""Tables and dataset folders in files."""
