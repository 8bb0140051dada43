import sys, time, warnings, cProfile, pstats
import numpy as np
warnings.simplefilter("ignore")
sys.path.insert(0,".")
from benchmarks.preconditioner import *
s = whole("Ki"); k = kernels(ALL_OF_KI)
kind = LOSSES[sys.argv[1]]; a=float(sys.argv[2]); p=sys.argv[3]
f=lambda: kind(k,k,alpha=a,preconditioner=p).fit(*s[:2])
f()
b=time.perf_counter(); m=f(); print(time.perf_counter()-b, m.solution_.n_iter, m.form_reason_, m.plan_.path)
c=cProfile.Profile(); c.enable(); f(); c.disable()
pstats.Stats(c).sort_stats("cumtime").print_stats(45)
pstats.Stats(c).sort_stats("tottime").print_stats(22)
