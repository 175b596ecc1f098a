"""A server of a test's own, for what the shared one cannot show: a restart, its memory, services behind it."""

import os
import pathlib
import socket
import subprocess
import tempfile
import time

BINARY = os.environ["RIVERRUN_BINARY"]


class Server:
    def __init__(self, config=None):
        """`config` is the text of its riverrun.toml."""
        self.config = config
        self.home = tempfile.TemporaryDirectory(prefix="riverrun-clients-")
        self.data = pathlib.Path(self.home.name, "data")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self):
        command = [BINARY, "serve", "--dev", "--listen", f"127.0.0.1:{self.port}", "--data-dir", self.data]
        if self.config is not None:
            file = pathlib.Path(self.home.name, "riverrun.toml")
            file.write_text(self.config)
            command += ["--config", file]
        with open(pathlib.Path(self.home.name, "log"), "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and (self.data / "admin.key").exists():
                    return
            assert self.process.poll() is None, "the server ended while it started"
            time.sleep(0.05)
        raise AssertionError("the server did not start in thirty seconds")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def kill(self):
        """As `kill -9`: nothing is written behind it."""
        self.process.kill()
        self.process.wait(30)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def key(self):
        return (self.data / "admin.key").read_text().strip()

    def environment(self):
        """Makes `support` and `recorded` speak to this server; before they are imported."""
        os.environ["RIVERRUN_URL"] = self.url
        os.environ["RIVERRUN_KEY"] = self.key

    def resident(self):
        """Kilobytes of memory in use."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("the system does not tell a process's memory")
