import subprocess, json, threading, os, sys, socket, re, queue, time
from urllib.parse import unquote
ROOT='/work/h/words'
log=open('/tmp/wd/ra.log','w',buffering=1)
p=subprocess.Popen(['nice','rust-analyzer'],stdin=subprocess.PIPE,stdout=subprocess.PIPE,stderr=open('/tmp/wd/ra.err','w'),cwd=ROOT)
open('/tmp/wd/ra.pid','w').write(str(p.pid))
lock=threading.Lock(); nid=[0]; waits={}; quiet=threading.Event()
def send(m):
    b=json.dumps(m).encode()
    with lock:
        p.stdin.write(b'Content-Length: %d\r\n\r\n'%len(b)+b); p.stdin.flush()
def req(method,params,timeout=300):
    nid[0]+=1; i=nid[0]; q=queue.Queue(); waits[i]=q
    send({'jsonrpc':'2.0','id':i,'method':method,'params':params})
    return q.get(timeout=timeout)
def note(method,params): send({'jsonrpc':'2.0','method':method,'params':params})
CONF={'cargo':{'extraArgs':['--profile','suite'],'allTargets':True},'checkOnSave':False,'cachePriming':{'enable':False},'numThreads':2}
def reader():
    while True:
        n=0
        while True:
            l=p.stdout.readline()
            if not l: log.write('EOF\n'); return
            l=l.strip()
            if not l: break
            if l.lower().startswith(b'content-length'): n=int(l.split(b':')[1])
        m=json.loads(p.stdout.read(n))
        if 'id' in m and 'method' in m:
            r=None
            if m['method']=='workspace/configuration': r=[CONF for _ in m['params']['items']]
            send({'jsonrpc':'2.0','id':m['id'],'result':r})
        elif 'id' in m:
            waits.pop(m['id']).put(m)
        else:
            if m['method']=='experimental/serverStatus':
                log.write(json.dumps(m['params'])[:300]+'\n')
                if m['params']['quiescent']: quiet.set()
                else: quiet.clear()
            elif m['method'] in('window/showMessage',): log.write(json.dumps(m['params'])[:500]+'\n')
threading.Thread(target=reader,daemon=True).start()
req('initialize',{'processId':os.getpid(),'rootUri':'file://'+ROOT,'workspaceFolders':[{'uri':'file://'+ROOT,'name':'w'}],
 'capabilities':{'workspace':{'configuration':True,'workspaceEdit':{'documentChanges':True},'didChangeWatchedFiles':{'dynamicRegistration':True}},'experimental':{'serverStatusNotification':True},'general':{'positionEncodings':['utf-8']},'textDocument':{'rename':{'prepareSupport':True}}},
 'initializationOptions':CONF})
note('initialized',{})
def apply(path,edits):
    b=open(path,'rb').read().split(b'\n')
    for e in sorted(edits,key=lambda e:(e['range']['start']['line'],e['range']['start']['character']),reverse=True):
        s,t=e['range']['start'],e['range']['end']
        assert s['line']==t['line'],path
        l=b[s['line']]; b[s['line']]=l[:s['character']]+e['newText'].encode()+l[t['character']:]
    open(path,'wb').write(b'\n'.join(b))
def rename(file,old,new,nth=None,pat=None):
    path=os.path.join(ROOT,file); text=open(path,'rb').read().split(b'\n')
    rx=re.compile((pat or r'\b(?:struct|enum|trait|type|fn|const|static|mod)\s+(%s)\b').replace('%s',re.escape(old)).encode())
    hits=[(i,m.start(1)) for i,l in enumerate(text) for m in rx.finditer(l) if not l.strip().startswith(b'//')]
    if not hits: return 'NOHIT %s %s'%(file,old)
    i,c=hits[nth or 0]
    r=None
    for attempt in range(5):
        r=req('textDocument/rename',{'textDocument':{'uri':'file://'+path},'position':{'line':i,'character':c},'newName':new})
        if 'error' in r and 'cancel' in json.dumps(r['error']).lower() or (r.get('error') or {}).get('code')in(-32801,-32802): time.sleep(1); continue
        break
    if r.get('error') or not r.get('result'): return 'ERR %s %s %s'%(file,old,r.get('error'))
    n=0; files=[]
    res=r['result']
    for d in res.get('documentChanges') or []:
        if 'textDocument' in d:
            f=unquote(d['textDocument']['uri'][7:]); apply(f,d['edits']); n+=len(d['edits']); files.append(f)
        else: return 'FILEOP %s'%d
    for u,e in (res.get('changes') or {}).items():
        f=unquote(u[7:]); apply(f,e); n+=len(e); files.append(f)
    note('workspace/didChangeWatchedFiles',{'changes':[{'uri':'file://'+f,'type':2} for f in files]})
    time.sleep(.3)
    amb='' if len(hits)==1 or nth is not None else ' AMBIGUOUS(%d)'%len(hits)
    return 'ok %s %s->%s %d edits %d files%s'%(file,old,new,n,len(files),amb)
s=socket.socket(socket.AF_UNIX); 
try: os.unlink('/tmp/wd/sock')
except OSError: pass
s.bind('/tmp/wd/sock'); s.listen(1)
while True:
    c,_=s.accept(); f=c.makefile('rw')
    for line in f:
        line=line.strip()
        if not line: continue
        a=json.loads(line)
        if a[0]=='files':
            note('workspace/didChangeWatchedFiles',{'changes':[{'uri':'file://'+os.path.join(ROOT,x),'type':2} for x in a[1]]}); out='ok'
        elif a[0]=='status': out='quiet' if quiet.is_set() else 'busy'
        else:
            quiet.wait(600)
            try: out=rename(*a)
            except Exception as e: out='EXC %r'%e
        f.write(out+'\n'); f.flush()
