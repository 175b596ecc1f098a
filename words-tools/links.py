# doc links and backticked type names in comments of the crate that owns the type
import re,subprocess
rows=[l.split()[:3] for l in open('/tmp/wd/types.txt')]
import os
os.chdir('/work/h/words')
for f,o,n in rows:
    # a name that only one file of the crate had: rename [`Old`...] links across the workspace's comments of that crate
    crate=f.split('/src/')[0]
    files=subprocess.check_output(['git','ls-files',crate+'/**/*.rs',crate+'/*.rs']).decode().split()
    for p in files:
        if not os.path.exists(p): continue
        t=open(p).read()
        u=re.sub(r'(//[/!]?[^\n]*?\[`)%s(?=[`:])'%o,lambda m:m.group(1)+n,t)
        if u!=t:
            open(p,'w').write(u); print(p,o,n)
