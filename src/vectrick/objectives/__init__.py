"""Objectives for solvers: spaces of functions, risks by passes, and the degree model."""
