"""The few array primitives that the operators are made of: reference and CPU."""
