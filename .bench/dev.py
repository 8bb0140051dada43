import sys, time, warnings, json, os
import numpy as np, torch
warnings.simplefilter("ignore")
import vectrick as vt
from benchmarks.gpu import Card, billion, G
what = sys.argv[1:]
torch.zeros(1, device="cuda")
def wall(f, n=7):
    f(); f(); ts=[]
    for _ in range(n):
        torch.cuda.synchronize(); b=time.perf_counter(); f(); torch.cuda.synchronize(); ts.append(time.perf_counter()-b)
    return np.median(ts), min(ts), max(ts)
def prof(f, top=14):
    import cProfile, pstats, io
    from torch.profiler import profile, ProfilerActivity
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
        f(); torch.cuda.synchronize()
    ev = p.key_averages()
    tot = sum(e.self_device_time_total for e in ev)
    print("GPU total ms", tot/1e3)
    for e in sorted(ev, key=lambda e:-e.self_device_time_total)[:top]:
        print(f"   {e.self_device_time_total/1e3:8.2f} ms x{e.count:5d} {e.key[:90]}")
    c = cProfile.Profile(); c.enable(); f(); torch.cuda.synchronize(); c.disable()
    s = io.StringIO(); pstats.Stats(c, stream=s).sort_stats("tottime").print_stats(12); pstats.Stats(c, stream=s).sort_stats("cumtime").print_stats(70)
    print("\n".join(l for l in s.getvalue().splitlines() if l.strip())[:12000])
if "converged" in what:
    m=6400
    X, y = vt.datasets.make_checkerboard(m, random_state=0)
    X, labels = X.on(torch.device("cuda")), torch.as_tensor(y, device="cuda")
    for kind in (vt.KronRidge, vt.KronSVM, vt.KronLogistic):
        model = kind(G, G, alpha=1.0, tol=1e-8, backend="torch", device="cuda")
        t = wall(lambda: model.fit(X, labels))
        s = model.solution_
        print(kind.__name__, "median/min/max ms", [round(1e3*v,1) for v in t], s.n_products, s.converged, s.n_iter, s.preconditioner, s.preconditioner_reason, flush=True)
        if "prof" in what: prof(lambda: model.fit(X, labels))
if "auto" in what:
    X, y = vt.datasets.make_checkerboard(1000, random_state=0)
    for k in range(3):
        b=time.perf_counter(); m_=vt.AutoKron(random_state=0, backend="torch", device="cuda").fit(X, y); torch.cuda.synchronize(); print("AutoKron 1000^2 torch", time.perf_counter()-b, m_.score_ if hasattr(m_,'score_') else '', flush=True)
    if "prof" in what:
        import cProfile, pstats
        c=cProfile.Profile(); c.enable(); vt.AutoKron(random_state=0, backend="torch", device="cuda").fit(X, y); torch.cuda.synchronize(); c.disable()
        pstats.Stats(c).sort_stats("cumtime").print_stats(60); pstats.Stats(c).sort_stats("tottime").print_stats(25)
    if "cpu" in what:
        b=time.perf_counter(); m_=vt.AutoKron(random_state=0).fit(X, y); print("AutoKron 1000^2 cpu", time.perf_counter()-b, flush=True)
if "billion" in what:
    card = Card(torch.device("cuda"))
    for r in billion(card, 100_000, 1_000_000_000, 256):
        print({k:v for k,v in r.items() if k not in ("flops","bytes")}, "peak GiB", r.get("peak",0)/2**30, flush=True)
