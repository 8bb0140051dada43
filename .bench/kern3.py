src = open(".bench/kern2.py").read()
exec(src.split("@njit(nogil=True, inline")[0])
@njit(nogil=True, fastmath=FM, inline="always")
def dots(x, C, col, col0, h, n, out):
    if n == 4:
        out[0],out[1],out[2],out[3] = dot4(x,C,col0+np.int64(col[h]),col0+np.int64(col[h+1]),col0+np.int64(col[h+2]),col0+np.int64(col[h+3]))
    else:
        out[0] = dot(x,C,col0+np.int64(col[h]))
@njit(nogil=True, fastmath=FM, inline="always")
def adds(x, C, col, col0, h, n, g):
    if n == 4:
        add4(x,C,col0+np.int64(col[h]),col0+np.int64(col[h+1]),col0+np.int64(col[h+2]),col0+np.int64(col[h+3]),g[0],g[1],g[2],g[3])
    else:
        add(x,C,col0+np.int64(col[h]),g[0])
@njit(nogil=True, fastmath=FM, inline="always")
def run_end(row, h, stop):
    e = h+1
    while e < stop and row[e]==row[h]: e+=1
    return e
def make(ahead):
    @njit(nogil=True, fastmath=FM)
    def f(L, C, S, row, col, weight, with_weight, low, row0, col0, first, stop):
        p = np.empty(4,C.dtype)
        h = end = first
        base, step = np.int64(C.ctypes.data), np.int64(C.strides[0])
        while h < stop:
            end = run_end(row,h,stop)
            i = row0+np.int64(row[h])-low
            here, sums = L[i], S[i]
            while h < end:
                n = 4 if h+4<=end else 1
                if ahead:
                    for k in range(n):
                        if h+k+ahead<stop: 
                            a=base+(col0+np.int64(col[h+k+ahead]))*step
                            for l in range(0, step, 512): pf(a+l)
                dots(here, C, col, col0, h, n, p)
                if with_weight:
                    for k in range(n): p[k]*=weight[h+k]
                adds(sums, C, col, col0, h, n, p)
                h += n
    return f
fs={"old":old,"new":new,"n0":make(0),"n4":make(4),"n8":make(8)}
exec("def best"+src.split("def best")[2])
