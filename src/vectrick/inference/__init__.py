"""Methods beyond prediction for fitted models: posterior, explanations, recommendations, suggestions."""
