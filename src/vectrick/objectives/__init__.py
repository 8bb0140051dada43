"""What solvers see: spaces of functions, risks by passes, and the degree model."""
