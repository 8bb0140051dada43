import time, tempfile, sys, warnings, numpy as np
warnings.simplefilter("ignore")
import vectrick as vt, pyarrow as pa
from pyarrow import parquet
rng=np.random.default_rng(0); n,m,r=10_000_000,30_000,64
s,e=(rng.integers(0,m,n) for _ in range(2)); S,E=(rng.standard_normal((m,r))/8 for _ in range(2))
y=np.einsum("ij,ij->i",(S@rng.standard_normal((r,r)))[s],E[e])+rng.standard_normal(n)
with tempfile.TemporaryDirectory() as f:
    for k in range(4):
        q=slice(k*n//4,(k+1)*n//4); parquet.write_table(pa.table({"start":s[q],"end":e[q],"label":y[q]}), f"{f}/p{k}.parquet", row_group_size=1<<20)
    w=vt.Edges(s[:5000],e[:5000],S,E); vt.KronRidge(form="primal",preconditioner="kronecker",dtype="float64").fit(vt.Edges(s[:200000],e[:200000],S,E),y[:200000]);
    vt.KronRidge().fit(vt.scan_edges(f, start_table=S[:], end_table=E[:], filters=[("label",">",1)]))
    for k in range(4):
        b=time.perf_counter(); a=vt.KronRidge(alpha=1,tol=1e-6).fit(vt.Edges(s,e,S,E),y); t1=time.perf_counter()-b
        X=vt.scan_edges(f,start_table=S,end_table=E)
        b=time.perf_counter(); c=vt.KronRidge(alpha=1,tol=1e-6).fit(X); t2=time.perf_counter()-b
        print(f"memory {t1:.2f} lake {t2:.2f} ratio {t1/t2:.2f}", a.n_iter_, c.n_iter_, a.plan_.path, np.abs(a.coef_-c.coef_).max(), flush=True)
    if "prof" in sys.argv:
        import cProfile,pstats
        p=cProfile.Profile(); p.enable(); vt.KronRidge(alpha=1,tol=1e-6).fit(vt.Edges(s,e,S,E),y); p.disable(); pstats.Stats(p).sort_stats("tottime").print_stats(25)
        p=cProfile.Profile(); p.enable(); vt.KronRidge(alpha=1,tol=1e-6).fit(vt.scan_edges(f,start_table=S,end_table=E)); p.disable(); pstats.Stats(p).sort_stats("tottime").print_stats(12)
