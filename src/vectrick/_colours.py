"""The colors of all figures and of small pictures in notebooks; the style sheet of reports has the same colors."""

BLUE, ORANGE, GREEN, PURPLE, GREY, PALE = "#2a6fc9", "#c8641b", "#2b8a5e", "#7d55c7", "#8c959f", "#c9d1d9"
