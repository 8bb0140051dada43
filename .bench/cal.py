import time, numpy as np, vectrick as vt
from vectrick.passes.local import ArrayEngine
from vectrick.passes.tasks import Normal
from vectrick.backends import HOST
def best(f,n=5):
    f(); t=[]
    for _ in range(n):
        b=time.perf_counter(); f(); t.append(time.perf_counter()-b)
    return min(t)
rng=np.random.default_rng(0)
for dt in (np.float64,np.float32):
  R=HOST.rates(np.dtype(dt),2,False,measured=True); D=HOST.rates(np.dtype(dt),2,False,measured=False)
  print(dt.__name__, R)
  for m,q,n,r1,r2 in [(1000,1000,250000,32,32),(1000,1000,250000,128,128),(1000,1000,250000,257,257),(1000,1000,250000,350,350),(2000,2000,1000000,257,257),(2000,2000,1000000,357,357),(6400,6400,2000000,357,357),(30000,30000,2000000,64,64),(30000,30000,2000000,256,256),(100000,100000,2000000,64,64),(1000,100000,500000,64,64),(5000,5000,100000,64,64),(5000,5000,30000,32,32),(300,200,20000,20,20)]:
    keys=rng.permutation(m*q)[:n] if m*q<5e7 else rng.integers(0,m*q,n)
    s,e=(keys//q).astype(np.int32),(keys%q).astype(np.int32)
    S,E=rng.standard_normal((m,r1)).astype(dt),rng.standard_normal((q,r2)).astype(dt)
    b=time.perf_counter(); eng=ArrayEngine(s,e,np.ones(n),None,(m,q),2); sort=time.perf_counter()-b
    eng.set_features(S,E)
    W=rng.standard_normal((r1,r2)).astype(dt)
    def one():
        global W
        W=W+0; W[0,0]+=1; eng.total(Normal(W))
    t=best(one)
    b=time.perf_counter(); op=vt.kron(E,S)[(e,s),:]; opT=op.T; op.plan; opT.plan; w=W.ravel(); 
    g=op@w; opT@g; first=time.perf_counter()-b
    tp=best(lambda: opT@(op@w))
    plan=op.plan.seconds+opT.plan.seconds
    rows,cols=sorted(((m,r1),(q,r2)))
    def model(R):
        return 4.0*rows[0]*rows[1]*cols[1]/R.gemm + 2.0*n*cols[1]*(1/R.sampled_large+1/R.sparse_large), 4.0*rows[0]*rows[1]*cols[1]/R.gemm + 2.0*n*cols[1]*(1/R.sampled_small+1/R.sparse_small)
    print(f"{m}x{q} {n} r{r1}: pass {1e3*t:.1f} (model large/small {1e3*model(R)[0]:.1f} {1e3*model(R)[1]:.1f}; typ {1e3*model(D)[0]:.1f}) products {1e3*tp:.1f} (plan {1e3*plan:.1f}, {op.plan.path},{opT.plan.path}); sort {1e3*sort:.0f}, products first {1e3*first:.0f}", flush=True)
