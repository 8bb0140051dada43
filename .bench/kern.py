import time, numpy as np
from numba import njit
from vectrick.data.lake.blocks import EdgeBlock
import vectrick.data.lake.blocks as B
from vectrick.backends.cpu.pass_kernels import quadratic as old
FM={"reassoc","contract","nsz","arcp"}
@njit(nogil=True, fastmath=FM)
def dot4(x, C, a, b, c, d):
    p = q = r = s = C.dtype.type(0)
    for k in range(C.shape[1]):
        p += x[k]*C[a,k]; q += x[k]*C[b,k]; r += x[k]*C[c,k]; s += x[k]*C[d,k]
    return p,q,r,s
@njit(nogil=True, fastmath=FM)
def add4(x, C, a, b, c, d, p, q, r, s):
    for k in range(C.shape[1]):
        x[k] += (p*C[a,k] + q*C[b,k]) + (r*C[c,k] + s*C[d,k])
@njit(nogil=True, fastmath=FM)
def dot(x, C, a):
    p = C.dtype.type(0)
    for k in range(C.shape[1]): p += x[k]*C[a,k]
    return p
@njit(nogil=True, fastmath=FM)
def add(x, C, a, p):
    for k in range(C.shape[1]): x[k] += p*C[a,k]
@njit(nogil=True, fastmath=FM)
def new(L, C, S, row, col, weight, with_weight, low, row0, col0, first, stop):
    rank = C.shape[1]
    h = first
    while h < stop:
        r = row[h]
        end = h+1
        while end < stop and row[end]==r: end += 1
        i = row0+np.int64(r)-low
        here, sums = L[i], S[i]
        while h+4 <= end:
            a,b,c,d = col0+np.int64(col[h]), col0+np.int64(col[h+1]), col0+np.int64(col[h+2]), col0+np.int64(col[h+3])
            p,q,rr,s = dot4(here, C, a,b,c,d)
            if with_weight:
                p*=weight[h]; q*=weight[h+1]; rr*=weight[h+2]; s*=weight[h+3]
            add4(sums, C, a,b,c,d,p,q,rr,s)
            h += 4
        while h < end:
            a = col0+np.int64(col[h])
            p = dot(here, C, a)
            if with_weight: p *= weight[h]
            add(sums, C, a, p)
            h += 1
def best(f,n=5):
    f(); t=[]
    for _ in range(n):
        b=time.perf_counter(); f(); t.append(time.perf_counter()-b)
    return min(t)
rng=np.random.default_rng(0)
none=np.empty(0,np.float32)
import sys
for dt in (np.float64,np.float32):
  for m,q,n,r in [(1000,1000,250000,16),(1000,1000,250000,32),(1000,1000,250000,64),(1000,1000,250000,128),(1000,1000,250000,257),(30000,30000,2000000,64),(30000,30000,2000000,256),(100000,100000,2000000,64),(5000,5000,100000,64)]:
    keys=rng.permutation(m*q)[:n] if m*q<5e7 else rng.integers(0,m*q,n)
    s,e=(keys//q).astype(np.int32),(keys%q).astype(np.int32)
    L,C=rng.standard_normal((m,r)).astype(dt),rng.standard_normal((q,r)).astype(dt)
    out=[]
    for width in (1<<13, 1<<12, 1<<11,1<<10):
        B._NARROW=width
        blk=EdgeBlock.of(s,e,None,None,(m,q))
        def run(f,S):
            for _,r0,c0,a,b in blk.pieces.tolist(): f(L,C,S,blk.row,blk.col,none,False,0,r0,c0,a,b)
        S1,S2=np.zeros_like(L),np.zeros_like(L)
        run(old,S1); run(new,S2)
        assert np.allclose(S1,S2,rtol=1e-3,atol=1e-3*abs(S1).max())
        t=[1e3*best(lambda: run(f,S1)) for f in (old,new)]
        out.append((B._width(n,(m,q)),round(t[0],1),round(t[1],1)))
    print(dt.__name__, m,n,r,"GF/s new best", round(4*n*r/min(o[2] for o in out)/1e6,1), out, flush=True)
