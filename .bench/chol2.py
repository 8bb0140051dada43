import cProfile,pstats,time, numpy as np, vectrick as vt, vectrick.kernels.factor as F
G=vt.Gaussian(gamma=1.0); X=np.random.default_rng(0).uniform(0,100,(1000,1))
F.feature_map(G,X,1e-12)
b=time.perf_counter(); F.feature_map(G,X,1e-12); print(time.perf_counter()-b)
p=cProfile.Profile(); p.enable()
for _ in range(5): F.feature_map(G,X,1e-12)
p.disable(); pstats.Stats(p).sort_stats("tottime").print_stats(8)
