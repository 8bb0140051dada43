exec(open(".bench/kern.py").read().split("def best")[0])
from vectrick.backends.cpu.simd import make_prefetch_row
pf = make_prefetch_row(8)
@njit(nogil=True, inline="always")
def together(row, h, stop):
    n = 1
    while n < 4 and h+n < stop and row[h+n]==row[h]: n += 1
    return n
@njit(nogil=True, fastmath=FM)
def dots(x, C, at, n, out):
    if n == 4:
        out[0],out[1],out[2],out[3] = dot4(x,C,at[0],at[1],at[2],at[3])
    else:
        for k in range(n): out[k] = dot(x,C,at[k])
@njit(nogil=True, fastmath=FM)
def adds(x, C, at, n, g):
    if n == 4:
        add4(x,C,at[0],at[1],at[2],at[3],g[0],g[1],g[2],g[3])
    else:
        for k in range(n): add(x,C,at[k],g[k])
def make(ahead):
    @njit(nogil=True, fastmath=FM)
    def f(L, C, S, row, col, weight, with_weight, low, row0, col0, first, stop):
        at, p = np.empty(4,np.int64), np.empty(4,C.dtype)
        h = first
        base, step = np.int64(C.ctypes.data), np.int64(C.strides[0])
        while h < stop:
            n = together(row,h,stop)
            i = row0+np.int64(row[h])-low
            for k in range(n):
                at[k] = col0+np.int64(col[h+k])
                if ahead and h+k+ahead<stop: 
                    a=base+(col0+np.int64(col[h+k+ahead]))*step
                    for l in range(0, step, 512): pf(a+l)
            dots(L[i], C, at, n, p)
            if with_weight:
                for k in range(n): p[k]*=weight[h+k]
            adds(S[i], C, at, n, p)
            h += n
    return f
fs={"old":old,"new":new,"n0":make(0),"n4":make(4),"n8":make(8),"n16":make(16)}
def best(f,n=5):
    f(); t=[]
    for _ in range(n):
        b=time.perf_counter(); f(); t.append(time.perf_counter()-b)
    return min(t)
rng=np.random.default_rng(0)
none=np.empty(0,np.float32)
for dt in (np.float64,np.float32):
  for m,q,n,r in [(1000,1000,250000,16),(1000,1000,250000,32),(1000,1000,250000,64),(1000,1000,250000,257),(30000,30000,2000000,64),(30000,30000,2000000,256),(100000,100000,2000000,64),(5000,5000,100000,64)]:
    keys=rng.permutation(m*q)[:n] if m*q<5e7 else rng.integers(0,m*q,n)
    s,e=(keys//q).astype(np.int32),(keys%q).astype(np.int32)
    L,C=rng.standard_normal((m,r)).astype(dt),rng.standard_normal((q,r)).astype(dt)
    blk=EdgeBlock.of(s,e,None,None,(m,q))
    def run(f,S):
        for _,r0,c0,a,b in blk.pieces.tolist(): f(L,C,S,blk.row,blk.col,none,False,0,r0,c0,a,b)
    S1,S2=np.zeros_like(L),np.zeros_like(L)
    run(fs["old"],S1); run(fs["n8"],S2)
    assert np.allclose(S1,S2,rtol=1e-3,atol=1e-3*abs(S1).max())
    print(dt.__name__, m,n,r, {k:round(1e3*best(lambda: run(f,S1)),2) for k,f in fs.items()}, flush=True)
