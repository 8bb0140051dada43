import sys, numpy as np, tempfile, pandas as pd, warnings
warnings.simplefilter("ignore")
import vectrick as vt
def count(f):
    f()  # warm: imports
    seen={}
    def prof(frame, ev, arg):
        if ev=="call":
            n=frame.f_code.co_filename
            if "src/vectrick" in n and frame.f_code.co_name!="<module>": seen[n.split("src/vectrick/")[1]]=seen.get(n.split("src/vectrick/")[1],0)+1
    import threading
    sys.setprofile(prof); threading.setprofile(prof)
    f()
    sys.setprofile(None); threading.setprofile(None)
    return seen
rng=np.random.default_rng(0)
X=vt.Edges(rng.integers(0,200,20000),rng.integers(0,200,20000),rng.standard_normal((200,30)),rng.standard_normal((200,30))); y=rng.standard_normal(20000)
a=count(lambda: vt.KronRidge().fit(X,y))
b0=count(lambda: vt.KronRidge(form="dual").fit(X,y))
with tempfile.TemporaryDirectory() as f:
    pd.DataFrame({"start":X.start,"end":X.end,"label":y}).to_parquet(f+"/e.parquet")
    L=count(lambda: vt.KronRidge().fit(vt.scan_edges(f,start_table=X.start_table.features,end_table=X.end_table.features)))
c=count(lambda: vt.AutoKron(random_state=0,budget=3).fit(X[:3000],y[:3000]))
print("KronRidge",len(a),"dual",len(b0),"lake",len(L),"AutoKron",len(c))
if len(sys.argv)>1:
    print(sorted(a)); print(sorted(L)); print(sorted(c))
