import subprocess,re,collections
exec(open('/tmp/wd/tok.py').read().split('def rename')[0].split("import sys")[1].join(["import sys",""]) if False else "")
TOK=re.compile(r'''(?P<lc>//[^\n]*)|(?P<raw>b?c?r(?P<h>\#*)".*?"(?P=h))|(?P<s>b?c?"(?:\\.|[^"\\])*")|(?P<ch>b?'(?:\\.[^']*|[^'\\])')|(?P<lt>'[A-Za-z_]\w*)|(?P<id>[A-Za-z_]\w*)''',re.S)
def lits(rev):
    c=collections.Counter()
    fs=[f for f in subprocess.check_output(['git','ls-tree','-r','--name-only',rev]).decode().split('\n') if f.endswith('.rs')]
    p=subprocess.Popen(['git','cat-file','--batch'],stdin=subprocess.PIPE,stdout=subprocess.PIPE)
    for f in fs:
        p.stdin.write(('%s:%s\n'%(rev,f)).encode()); p.stdin.flush()
        h=p.stdout.readline().split(); n=int(h[2]); t=p.stdout.read(n).decode(); p.stdout.read(1)
        for m in TOK.finditer(t):
            if m.group('s') or m.group('raw'): c[m.group(0)]+=1
    return c
a,b=lits('8a99287a'),lits('HEAD')
print('REMOVED'); [print(' ',k[:160],v) for k,v in (a-b).items()]
print('ADDED'); [print(' ',k[:160],v) for k,v in (b-a).items()]
