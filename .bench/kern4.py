import time, numpy as np, sys
import subprocess
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.passes.host import HostPasses
from vectrick.losses import Logistic, SquaredHinge
def best(f,n=5):
    f(); t=[]
    for _ in range(n):
        b=time.perf_counter(); f(); t.append(time.perf_counter()-b)
    return min(t)
rng=np.random.default_rng(0)
for dt in (np.float64,np.float32):
  for m,q,n,r in [(1000,1000,250000,16),(1000,1000,250000,64),(1000,1000,250000,257),(30000,30000,2000000,64),(100000,100000,2000000,64),(5000,5000,100000,64)]:
    keys=rng.permutation(m*q)[:n] if m*q<5e7 else rng.integers(0,m*q,n)
    s,e=(keys//q).astype(np.int32),(keys%q).astype(np.int32)
    R,C=rng.standard_normal((m,r)).astype(dt),rng.standard_normal((q,r)).astype(dt)
    blk=EdgeBlock.of(s,e,np.sign(rng.standard_normal(n)),None,(m,q))
    P=HostPasses(R,C); W=rng.standard_normal((r,r)).astype(dt)*.01; D=W*2
    print(dt.__name__,m,n,r,{"quad":round(1e3*best(lambda:P.quadratic(blk,W,1)),1),"log":round(1e3*best(lambda:P.loss_sums(blk,W,.1,Logistic,None,1)),1),"hinge":round(1e3*best(lambda:P.loss_sums(blk,W,.1,SquaredHinge,None,1)),1),"curv":round(1e3*best(lambda:P.curvature_sums(blk,W,D,.1,Logistic,None,1)),1),"lab":round(1e3*best(lambda:P.label_sums(blk,None,True,1)),1)},flush=True)
