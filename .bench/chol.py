import time, numpy as np, vectrick as vt, vectrick.kernels.factor as F
G=vt.Gaussian(gamma=1.0)
rng=np.random.default_rng(0)
for m,X in ((1000,rng.uniform(0,100,(1000,1))),(6400,rng.uniform(0,100,(6400,1))),(3000,rng.standard_normal((3000,3)))):
  for c,w_ in ((128,.05),(128,.02),(128,.01),(256,.05),(256,.02),(256,.01),(256,.003),(256,.001),(512,.003)):
    F._WORSE=w_
    F._CANDIDATES=c; n=[0]
    old=F._best_of
    def w(*a): n[0]+=1; return old(*a)
    F._best_of=w
    f=lambda: F.feature_map(G if X.shape[1]==1 else vt.Gaussian(gamma=.1),X,1e-12)
    r=f(); steps=n[0]; t=[]
    for _ in range(5): b=time.perf_counter(); f(); t.append(time.perf_counter()-b)
    F._best_of=old
    print(m,X.shape[1],c,w_,"rank",r.rank,"steps",steps,"ms",round(1e3*min(t),1))
