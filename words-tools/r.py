# reads lines: file old new [nth] [pattern] ; '#': comment
import socket,sys,json,subprocess
s=socket.socket(socket.AF_UNIX); s.connect('/tmp/wd/sock'); f=s.makefile('rw')
def go(x):
    f.write(json.dumps(x)+'\n'); f.flush(); return f.readline().strip()
if sys.argv[1:]==['status']: print(go(['status'])); sys.exit()
if sys.argv[1:]==['sync']:
    fs=subprocess.check_output(['git','diff','--name-only'],cwd='/work/h/words').decode().split(); fs=[x for x in fs if x.endswith('.rs')]
    print(go(['files',fs]),len(fs)); sys.exit()
base=sys.argv[1] if len(sys.argv)>1 else ''
for line in sys.stdin:
    line=line.split('#')[0].strip()
    if not line: continue
    w=line.split(None,4)
    a=[base+w[0],w[1],w[2]]
    if len(w)>3: a.append(None if w[3]=='-' else int(w[3]))
    if len(w)>4: a.append({'field':r'(?:^|[{,(]|pub(?:\([a-z]+\))?)\s*(%s):\s'}.get(w[4],w[4]))
    print(go(a),flush=True)
