import time, warnings, numpy as np, sys
warnings.simplefilter("ignore")
import vectrick as vt
G=vt.Gaussian(gamma=1.0); m=6400
X,y=vt.datasets.make_checkerboard(m, random_state=0)
w=vt.datasets.make_checkerboard(900, random_state=0)
for K in (vt.KronRidge,vt.KronSVM,vt.KronLogistic): K(G,G).fit(*w)
A=np.random.default_rng(0).standard_normal((2000,2000)); 
def gemm():
    b=time.perf_counter(); 
    for _ in range(5): A@A
    return 5*2*2000**3/(time.perf_counter()-b)
gemm()
for K in (vt.KronRidge,vt.KronSVM,vt.KronLogistic):
    for rep in range(2):
        r=gemm(); b=time.perf_counter(); f=K(G,G,alpha=1.0,tol=1e-8).fit(X,y); t=time.perf_counter()-b; r=(r+gemm())/2
        p=f.solution_.n_products
        print(K.__name__, f"{t:.2f} s, {p} products, iter {f.n_iter_}, gemm {r/1e9:.0f} GF/s; over {p} products of 29 GF: {t/(p*29e9/r):.2f}; over 17: {t/(17*29e9/r):.2f}", f.plan_.path, f.form_reason_[:60], flush=True)
if "prof" in sys.argv:
    import cProfile,pstats
    p=cProfile.Profile(); p.enable(); vt.KronRidge(G,G,alpha=1.0,tol=1e-8).fit(X,y); p.disable(); pstats.Stats(p).sort_stats("tottime").print_stats(18)
    p=cProfile.Profile(); p.enable(); vt.KronLogistic(G,G,alpha=1.0,tol=1e-8).fit(X,y); p.disable(); pstats.Stats(p).sort_stats("tottime").print_stats(18)
