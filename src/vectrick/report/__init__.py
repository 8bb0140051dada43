"""The report: one self-contained page about a model."""
def check_plotly(): pass
def fit_report(*a, **k):
    class R:
        def write(self, p): open(p,"w").write("x")
    return R()
