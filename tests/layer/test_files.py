"""Modules that open files, on the default import list: programs that use them for files of their own, and attempts to reach other files by them.
Each program is compared with the same code without the layer; it refuses an attempt whose control, without the layer, does not fire.
"""

import os

from harness import HERE, request, run
from test_programs import default_imports

# (name, code): PWN is set to evidence if it works.
ATTEMPTS = [
    ("namedtemp-raw", "import tempfile\nf=tempfile.NamedTemporaryFile()\nr=f.raw\nPWN=type(r)('/etc/hostname').read()"),
    ("open-raw-type", "f=open('/tmp/agentjail-test-x','w')\nr=open('/tmp/agentjail-test-x','rb',buffering=0)\nPWN=type(r)('/etc/hostname').read()"),
    ("formatter-raw", "import string\nopen('/tmp/agentjail-test-x','w')\nf=open('/tmp/agentjail-test-x','rb')\nr=string.Formatter().get_field('0.raw',(f,),{})[0]\nPWN=type(r)('/etc/hostname').read()"),
    ("opener", "import os\nPWN=open('/tmp/agentjail-test-x','rb',opener=lambda p,f: 0).read()"),
    ("opener2", "PWN=open('/tmp/agentjail-test-x','rb',opener=lambda p,f: 3)"),
    ("opener-other", "import os\nfds=[]\nopen('/tmp/agentjail-test-x','w')\nPWN=open('/tmp/agentjail-test-x',opener=lambda p,f: os.open('/etc/hostname',0)).read()"),
    ("str-sub", "class S(str):\n    def __str__(s): return '/tmp/agentjail-test-x'\n    def startswith(s,*a): return True\n    def __fspath__(s): return '/tmp/agentjail-test-x'\n    def rstrip(s,*a): return '/tmp/agentjail-test-x'\nPWN=open(S('/etc/hostname')).read()"),
    ("bytes-path", "PWN=open(b'/etc/hostname').read()"),
    ("dotdot", "PWN=open('/tmp/../etc/hostname').read()"),
    ("symlink", "import contextlib, os\nwith contextlib.suppress(OSError): os.remove('/tmp/agentjail-test-ln')\nimport os\nos.symlink('/etc/hostname','/tmp/agentjail-test-ln')\nPWN=open('/tmp/agentjail-test-ln').read()"),
    ("symlink-dir", "import contextlib, os\nwith contextlib.suppress(OSError): os.remove('/tmp/agentjail-test-lnd')\nimport os\nos.symlink('/etc','/tmp/agentjail-test-lnd')\nPWN=open('/tmp/agentjail-test-lnd/hostname').read()"),
    ("symlink-pathlib", "import contextlib, os\nwith contextlib.suppress(OSError): os.remove('/tmp/agentjail-test-ln2')\nimport pathlib\np=pathlib.Path('/tmp/agentjail-test-ln2')\np.symlink_to('/etc/hostname')\nPWN=p.read_text()"),
    ("dirfd", "import os\nfd=os.open('/tmp',os.O_RDONLY)\nPWN=os.open('../etc/hostname',os.O_RDONLY,dir_fd=fd)"),
    ("dirfd-stat", "import os\nfd=os.open('/',os.O_RDONLY)\nPWN=fd+1"),
    ("listdir-root", "import os\nPWN=os.listdir('/')"),
    ("scandir-root", "import os\nPWN=[e.name for e in os.scandir('/etc')]"),
    ("walk-root", "import os\nPWN=list(os.walk('/etc'))[0:1] or None"),
    ("walk-globals", "import os\nPWN=getattr(os.walk,'__glo'+'bals__')"),
    ("glob-root", "import glob\nPWN=glob.glob('/etc/*') or None"),
    ("iterdir", "import pathlib\nPWN=list(pathlib.Path('/etc').iterdir()) or None"),
    ("rglob", "import pathlib\nPWN=list(pathlib.Path('/etc').glob('*')) or None"),
    ("shutil-copy", "import shutil\nPWN=shutil.copy('/etc/hostname','/tmp/agentjail-test-c')"),
    ("shutil-copyfileobj", "import shutil,io\nPWN=shutil.copyfile('/etc/hostname','/tmp/agentjail-test-c')"),
    ("zip-write", "import zipfile\nz=zipfile.ZipFile('/tmp/agentjail-test-z.zip','w')\nz.write('/etc/hostname')\nPWN=z.namelist()"),
    ("zip-extract", "import zipfile,io\nb=io.BytesIO()\nz=zipfile.ZipFile(b,'w');z.writestr('a','x');z.close()\nPWN=zipfile.ZipFile(b).extractall('/dev/shm/agentjail-test') or 1"),
    ("tar-add", "import tarfile\nt=tarfile.open('/tmp/agentjail-test-t.tar','w')\nt.add('/etc/hostname')\nPWN=t.getnames()"),
    ("tar-extract", "import tarfile,io\nb=io.BytesIO()\nt=tarfile.open(fileobj=b,mode='w');i=tarfile.TarInfo('a');i.size=1;t.addfile(i,io.BytesIO(b'x'));t.close();b.seek(0)\ntarfile.open(fileobj=b).extractall('/dev/shm/agentjail-test')\nPWN=1"),
    ("tar-bltn", "import tarfile\nPWN=tarfile.bltn_open('/etc/hostname').read()"),
    ("tar-bltn-g", "import tarfile\nPWN=getattr(tarfile.bltn_open,'__se'+'lf__')"),
    ("gzip-open", "import gzip\nPWN=gzip.open('/etc/hostname')"),
    ("gzip-builtins", "import gzip\nPWN=gzip.builtins.open('/etc/hostname').read()"),
    ("bz2", "import bz2\nPWN=bz2.open('/etc/hostname')"),
    ("lzma", "import lzma\nPWN=lzma.LZMAFile('/etc/hostname')"),
    ("lzma-b", "import lzma\nPWN=lzma.builtins.open('/etc/hostname').read()"),
    ("fileinput", "import fileinput\nPWN=list(fileinput.input('/etc/hostname'))"),
    ("fileinput-hook", "import fileinput\nPWN=list(fileinput.input('/etc/hostname',openhook=fileinput.hook_compressed))"),
    ("fileinput-hook2", "import fileinput\nPWN=list(fileinput.input('/etc/hostname',openhook=fileinput.hook_encoded('utf-8')))"),
    ("tokenize", "import tokenize\nPWN=tokenize.open('/etc/hostname').read()"),
    ("codecs", "import codecs\nPWN=codecs.open('/etc/hostname').read()"),
    ("codecs-builtins", "import codecs\nPWN=codecs.builtins.open('/etc/hostname').read()"),
    ("io-open", "import io\nPWN=io.open('/etc/hostname').read()"),
    ("io-fileio", "import io\nPWN=io.FileIO('/etc/hostname').read()"),
    ("io-code", "import io\nPWN=io.open_code('/etc/hostname').read()"),
    ("dircmp", "import filecmp\nPWN=filecmp.dircmp('/etc','/tmp').left_list"),
    ("wave", "import wave\nPWN=wave.open('/dev/shm/agentjail-test.wav','wb')"),
    ("mimetypes", "import mimetypes\nPWN=mimetypes.read_mime_types('/etc/mime.types') or mimetypes.MimeTypes(['/etc/hostname'])"),
    ("sqlite-extensions", "import sqlite3\nc=sqlite3.connect(':memory:')\nc.enable_load_extension(True)\nPWN=1"),
    ("sqlite-extensions-class", "import sqlite3\nclass C(sqlite3.Connection):\n    def __init__(self): super().__init__(':memory:')\nC().enable_load_extension(1)\nPWN=1"),
    ("sqlite-tokenizer", "import sqlite3\nc=sqlite3.connect(':memory:')\nPWN=c.execute('select fts3_tokenizer(?)',('simple',)).fetchone()"),
    ("sqlite-tokenizer-set", "import sqlite3\nc=sqlite3.connect(':memory:')\nPWN=c.execute('select fts3_tokenizer(?,?)',('own',b'AAAABBBB')).fetchone()"),
    ("sqlite-tokenizer-class", "import sqlite3\nclass C(sqlite3.Connection):\n    def __init__(self): super().__init__(':memory:')\n    def create_function(self,*args): pass\nPWN=C().execute('select fts3_tokenizer(?)',('simple',)).fetchone()"),
    ("sqlite-tokenizer-again", "import sqlite3\nc=sqlite3.connect(':memory:')\nsqlite3.Connection.__init__(c,':memory:')\nPWN=c.execute('select fts3_tokenizer(?)',('simple',)).fetchone()"),
    ("sqlite-tokenizer-real", "import sqlite3\nclass C(sqlite3.Connection):\n    def __init__(self):\n        try: super(sqlite3.Connection, self).__init__(':memory:')\n        except Exception: super().__init__(':memory:')\nPWN=C().execute('select fts3_tokenizer(?)',('simple',)).fetchone()"),
    ("sqlite-tokenizer-between", "import sqlite3\nclass P:\n    def __fspath__(self):\n        super(sqlite3.Connection, c).__init__(':memory:')\n        return ':memory:'\nclass C(sqlite3.Connection):\n    def __init__(self): pass\nc=C()\ntry:\n    sqlite3.Connection.__init__(c,P())\nexcept TypeError:\n    sqlite3.Connection.__init__(c,':memory:')\nPWN=c.execute('select fts3_tokenizer(?)',('simple',)).fetchone()"),
    ("optparse-mod2", "import optparse\nv=optparse.Values()\nv.read_module('os','loose')\nPWN=v.fork"),
    ("optparse-file", "import optparse\nopen('/tmp/agentjail-test-e','w').write('import os\\nx=os.fork')\nv=optparse.Values()\nv.x=None\nv.read_file('/tmp/agentjail-test-e')\nPWN=v.x"),
    ("sax-urlopen", "import xml.sax, xml.sax.saxutils\nPWN=xml.sax.saxutils.prepare_input_source('file:///etc/hostname').getByteStream().read()"),
    ("sax-open", "import xml.sax.saxutils\nPWN=xml.sax.saxutils.prepare_input_source('/etc/hostname').getByteStream().read()"),
    ("et-parse", "import xml.etree.ElementTree as E\nopen('/tmp/agentjail-test-x','w')\nPWN=E.ElementTree(E.Element('a')).write('/dev/shm/agentjail-test-x') or 1"),
    ("logging-file", "import logging\nPWN=logging.FileHandler('/dev/shm/agentjail-test-log')"),
    ("logging-handlers-socket", "import logging.handlers\nPWN=logging.handlers.SocketHandler"),
    ("logging-rot", "import logging.handlers\nh=logging.handlers.RotatingFileHandler('/tmp/agentjail-test-l')\nh.baseFilename='/dev/shm/agentjail-test-l2'\nPWN=h._open()"),
    ("logging-rotator", "import logging.handlers\nh=logging.handlers.RotatingFileHandler('/tmp/agentjail-test-l')\nPWN=h._builtin_open('/etc/hostname').read()"),
    ("shlex-hook", "import shlex\ns=shlex.shlex('x')\nPWN=s.sourcehook('/etc/hostname')[1].read()"),
    ("importlib-reload", "import importlib,json\nPWN=importlib.reload(json)"),
    ("importlib-mod", "import importlib\nPWN=importlib.import_module('pty')"),
    ("importlib-dunder", "import importlib\nPWN=getattr(importlib,'__import__')('pty')"),
    ("os-system", "import os\nPWN=os.system('true')"),
    ("os-path-os", "import os\nPWN=os.path.os.system"),
    ("posixpath-os", "import posixpath\nPWN=posixpath.os.system"),
    ("ntpath-os", "import ntpath\nPWN=ntpath.os.system"),
    ("genericpath", "import os\nPWN=os.path.genericpath.os.system"),
    ("tempfile-io", "import tempfile\nPWN=tempfile._io"),
    ("tempfile-dir", "import tempfile\nPWN=tempfile.mkdtemp(dir='/dev/shm',prefix='agentjail-test')"),
    ("tempfile-named", "import tempfile\nPWN=tempfile.NamedTemporaryFile(dir='/dev/shm',prefix='agentjail-test')"),
    ("tempfile-closer", "import tempfile\nt=tempfile.NamedTemporaryFile()\nPWN=getattr(t._closer.close,'__defaults__')"),
    ("tempfile-weak", "import tempfile\nd=tempfile.TemporaryDirectory()\nPWN=d._finalizer.detach()[1].__globals__"),
    ("finalizer", "import tempfile\nd=tempfile.TemporaryDirectory()\nPWN=d._finalizer.peek()[1].__func__.__globals__"),
    ("pickle-posix", "import pickle\nPWN=pickle.loads(b'cposix\\nsystem\\n(Vtrue\\ntR.')"),
    ("pickle-os", "import pickle\nPWN=pickle.loads(b'cos\\nsystem\\n(Vtrue\\ntR.')"),
    ("pickle-open", "import pickle\nPWN=pickle.loads(b'cio\\nopen\\n(V/etc/hostname\\ntR.').read()"),
    ("pickle-fileio", "import pickle\nPWN=pickle.loads(b'c_io\\nFileIO\\n(V/etc/hostname\\ntR.').read()"),
    ("pickle-builtopen", "import pickle\nPWN=pickle.loads(b'c__builtin__\\nopen\\n(V/etc/hostname\\ntR.').read()"),
    ("pickle-pathlib", "import pickle\nPWN=pickle.loads(b'cpathlib\\nio\\n.').open('/etc/hostname').read()"),
    ("pickle-email", "import pickle\nPWN=pickle.loads(b'cemail.utils\\nsocket\\n.')"),
    ("pickle-held", "import pickle,gzip\nPWN=pickle.loads(b'\\x80\\x04\\x8c\\x04gzip\\x8c\\rbuiltins.open\\x93.')('/etc/hostname').read()"),
    ("email-os", "import email.utils\nPWN=email.utils.os.system"),
    ("logging-h-os", "import logging.handlers\nPWN=logging.handlers.os.system"),
    ("plist-codecs", "import plistlib\nPWN=plistlib.codecs.builtins.open('/etc/hostname')"),
    ("mimetypes-os", "import mimetypes\nPWN=mimetypes.os.system"),
    ("zipfile-importlib", "import zipfile\nPWN=zipfile.importlib.util"),
    ("zipfile-threading", "import zipfile\nPWN=zipfile.threading._sys"),
    ("zipfile-pyzip", "import zipfile\nopen('/tmp/agentjail-testm.py','w').write('x')\nPWN=zipfile.PyZipFile('/tmp/agentjail-test.zip','w').writepy('/usr/lib/python3.11/this.py') or 1"),
    ("statprofile", "import os\nPWN=os.popen('true').read()"),
    ("os-open-flag", "import os\nclass F(int):\n    def __and__(s,o): return 0\nPWN=os.open('/dev/shm/agentjail-testx',F(os.O_CREAT|os.O_WRONLY))"),
    ("mock-os", "from unittest.mock import patch\nimport os, pathlib\nwith patch('os.open',None): pass\nPWN=pathlib.Path('/etc/hostname').read_text()"),
    ("mock-gzip-b", "from unittest.mock import patch\nimport gzip\np=patch('gzip.builtins.open')\nPWN=p.get_original()[0]('/etc/hostname').read()"),
    ("held-defaults", "import os\nPWN=os.walk.__defaults__"),
    ("vars-file", "open('/tmp/agentjail-test-x','w')\nPWN=vars(open('/tmp/agentjail-test-x','rb',0))"),
    ("file-dict", "open('/tmp/agentjail-test-x','w')\nPWN=open('/tmp/agentjail-test-x','rb',0).__dict__"),
    ("threadpool-open", "from concurrent.futures import ThreadPoolExecutor as T\nimport os\nPWN=T().submit(os.listdir,'/etc').result()"),
    ("partial", "import functools,os\nPWN=functools.partial(os.listdir,path='/etc')()"),
    ("kw-path", "import os\nPWN=os.listdir(path='/etc')"),
    ("bool-fd", "PWN=open(True,'w')"),
    ("dict-view", "PWN=globals()['__builtins__'].open('/etc/hostname').read()"),
]


def programs():
    with open(os.path.join(HERE, "file_programs.txt"), encoding="utf-8") as f:
        for part in f.read().split("#### ")[1:]:
            name, _, code = part.partition("\n")
            yield name, code


def printing(code):
    """The same program, whose value is what it prints."""
    return "import io as _io, sys as _sys\n_sys.stdout = _out = _io.StringIO()\n%s\n_sys.stdout = _sys.__stdout__\n_out.getvalue()" % code


def test(score):
    imports = default_imports()
    for name, code in programs():
        name = "files/" + name
        if score.wants(name):
            (claim,), _ = run(request(printing(code), imports=imports))
            (bare,), _ = run(request(printing(code), layer=False))
            score.check(name, bare["status"] == claim["status"] == "ok" and bare["value"] == claim["value"] != "",
                        (claim["value"], bare["value"], (claim["error"] or {}).get("traceback"), (bare["error"] or {}).get("traceback")))
    for name, code in ATTEMPTS:
        name = "reach/" + name
        if score.wants(name):
            (claim,), held = run(request(code, imports=imports), probe="PWN")
            score.check(name, held in (None, "None"), (claim["status"], held))
            (_,), held = run(request(code, layer=False), probe="PWN")
            score.check(name + "/control", held not in (None, "None"), "the control did not fire")
