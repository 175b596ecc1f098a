#!/usr/bin/env python3
# token-aware renames: spec lines "PATHGLOB[,PATHGLOB..] old=new old=new" ; outside comments and strings, but inside {captures} of strings
import sys,re,glob,os
ROOT='/work/h/words/'
TOK=re.compile(r'''(?P<lc>//[^\n]*)|(?P<bc>/\*.*?\*/)|(?P<raw>b?c?r(?P<h>\#*)".*?"(?P=h))|(?P<s>b?c?"(?:\\.|[^"\\])*")|(?P<ch>b?'(?:\\.[^']*|[^'\\])')|(?P<lt>'[A-Za-z_]\w*)|(?P<id>[A-Za-z_]\w*)''',re.S)
def rename(text,m):
    n=[0]
    def sub(t):
        k=t.lastgroup if t.lastgroup!='h' else 'raw'
        v=t.group(0)
        if t.group('id') is not None:
            if v in m: n[0]+=1; return m[v]
            return v
        if t.group('lc') is not None:
            if v.startswith('//'):
                def c(x):
                    if x.group(1) in m: n[0]+=1; return '`'+m[x.group(1)]+'`'
                    return x.group(0)
                return re.sub(r'`(\w+)`',c,v)
            return v
        if t.group('s') is not None or t.group('raw') is not None:
            def c(x):
                if x.group(2) in m: n[0]+=1; return x.group(1)+m[x.group(2)]+x.group(3)
                return x.group(0)
            return re.sub(r'((?<!\{)\{)(\w+)(\}|:)',c,v)
        return v
    return TOK.sub(sub,text),n[0]
for line in sys.stdin:
    line=line.split('#')[0].strip()
    if not line: continue
    w=line.split(); m=dict(x.split('=') for x in w[1:])
    files=[]
    for g in w[0].split(','):
        files+=glob.glob(ROOT+g,recursive=True)
    if not files: print('NOFILES',w[0])
    seen=dict.fromkeys(m,0)
    for f in sorted(set(files)):
        t=open(f).read()
        ids=set(x.group('id') for x in TOK.finditer(t) if x.group('id'))
        u,n=rename(t,m)
        if u!=t:
            for o,nw in m.items():
                if o in ids:
                    seen[o]+=1
                    if nw in ids: print('  CLASH',f[len(ROOT):],o,'->',nw)
            open(f,'w').write(u)
    for o,c in seen.items():
        if not c: print('  UNUSED',w[0],o)
