import time, numpy as np, vectrick as vt
from vectrick.operators import plan_kron
n=10_000_000; m=30000; rng=np.random.default_rng(0)
s=rng.integers(0,m,n).astype(np.int32); e=rng.integers(0,m,n).astype(np.int32)
S=np.random.default_rng(0).random((m,64)); E=S.copy()
for k in range(3):
    b=time.perf_counter(); p=plan_kron(E,S,(e,s),slice(None)); q=plan_kron(E.T,S.T,slice(None),(e,s)); print(time.perf_counter()-b, p.seconds, q.seconds)
