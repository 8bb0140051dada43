"""What a fitted model can be asked: posterior, explanations, recommendations, suggestions."""
