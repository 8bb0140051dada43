import sys, time, warnings, json
import numpy as np
warnings.simplefilter("ignore")
sys.path.insert(0,".")
from benchmarks.preconditioner import *
names = sys.argv[1].split(","); kinds = sys.argv[2].split(","); alphas=[float(a) for a in sys.argv[3].split(",")]
prec = sys.argv[4].split(",") if len(sys.argv)>4 else ["none","kronecker","auto"]
def get(n):
    if n.startswith("Checker"): return simulated(int(n[7:]))
    return whole(n)
warm = simulated(700)
vt.KronRidge(G, G).fit(*warm[:2]); vt.KronSVM(G, G, preconditioner="kronecker").fit(*warm[:2])
for n in names:
    s = get(n)
    name = ALL_OF_KI if n=="Ki" else n
    for kind in kinds:
        for a in alphas:
            took={}; why=""
            for p in prec:
                rep = 3
                r = fitted(name, s, kind, repeats=1, alpha=a, preconditioner=p)
                if r["seconds"]<3: r = min([r]+[fitted(name, s, kind, repeats=1, alpha=a, preconditioner=p) for _ in range(2)], key=lambda r:r["seconds"])
                took[p]=(round(r["seconds"],3), r["iterations"], r["products"], r["converged"]); 
                if p=="auto": why=r["used"]+": "+r["why"]
            best=min(took[p][0] for p in prec if p!="auto") if len(prec)>1 else 0
            print(n, kind, a, took, "ratio", round(took["auto"][0]/best,2) if "auto" in took and best else "", why, flush=True)
