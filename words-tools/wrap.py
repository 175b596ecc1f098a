CH=set(__import__('subprocess').check_output('git diff --name-only HEAD~1',shell=True,text=True).split())
import subprocess,re
fs=subprocess.check_output("git ls-files 'crates/*.rs' 'bench/*.rs' 'xtask/*.rs'; git ls-files -- crates bench xtask | grep '\.rs$'",shell=True,text=True).split()
import textwrap
for f in sorted(set(fs)):
    L=open(f).read().split('\n'); out=[]; i=0; ch=False
    while i<len(L):
        m=re.match(r'(\s*)(//[/!]?) (\S.*)$',L[i])
        if m and len(L[i])>120 and f in CH:
            ind,pre=m.group(1),m.group(2); words=m.group(3)
            # take following lines of the same paragraph
            j=i+1
            while j<len(L):
                n=re.match(re.escape(ind)+re.escape(pre)+r' ([^\s`|*\-#].*)$',L[j])
                if not n: break
                words+=' '+n.group(1); j+=1
            w=textwrap.wrap(words,120-len(ind)-len(pre)-1,break_long_words=False,break_on_hyphens=False)
            out+=[ind+pre+' '+x for x in w]; i=j; ch=True; print(f)
        else: out.append(L[i]); i+=1
    if ch: open(f,'w').write('\n'.join(out))
