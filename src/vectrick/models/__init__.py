"""What a trained function is: the kernel of its edges, its form, its predictions, and its file."""
