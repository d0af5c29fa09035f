"""A PostgreSQL of one bank's own: the cluster in the bank's directory, its socket in the process's home, no port."""
import atexit
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time

from protocol import BridgeError

USER = "memwriter"
START_SECONDS, STOP_SECONDS = 60, 60
#: It serves one process for as long as a bank is open.
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "40",
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    # In the cluster: a server that is killed leaves its shared memory elsewhere for ever.
    "dynamic_shared_memory_type": "mmap",
    "synchronous_commit": "off",
    # Statistics that come in the background would change how a search is planned, and so what it finds.
    "autovacuum": "off",
    # MemOS builds its index on the empty table: with fewer probes than lists a search misses rows without a word.
    "ivfflat.probes": "100",
    "log_min_messages": "warning",
}


class Cluster:
    """`directory` is made where it is not there. After `stop` it may be copied."""

    def __init__(self, directory, socket_directory):
        found = importlib.util.find_spec("pgserver")
        self.programs = os.path.join(os.path.dirname(found.origin), "pginstall", "bin")
        self.address = {"host": socket_directory, "port": 5432, "user": USER, "password": "", "dbname": "postgres"}
        self.prefix, self.owner = _another_user() if os.geteuid() == 0 else ([], None)
        self.process = None
        # A process that ends without "close" must not leave the server behind.
        atexit.register(self.stop)
        if not os.path.isdir(directory):
            os.mkdir(directory)
            self._give_away(directory)
            self._create(directory)
        self._give_away(directory)
        self._start(directory, socket_directory)

    def connect(self):
        import psycopg2

        return psycopg2.connect(**self.address)

    def stop(self):
        process, self.process = self.process, None
        if process is None:
            return
        # Its "fast" end: sessions are ended, everything is written.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise BridgeError("store", "PostgreSQL did not stop in %d s" % STOP_SECONDS) from None

    def _create(self, directory):
        made = subprocess.run(
            [*self.prefix, self._program("initdb"), "--pgdata", directory, "--username", USER, "--auth", "trust",
             "--encoding", "UTF8", "--locale", "C", "--wal-segsize", "1", "--no-sync", "--no-instructions"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        if made.returncode != 0:
            # Half a cluster would be taken for a whole one.
            shutil.rmtree(directory, ignore_errors=True)
            raise BridgeError("store", "initdb failed: %s" % made.stdout.strip()[-500:])

    def _start(self, directory, socket_directory):
        options = ["--%s=%s" % setting for setting in SETTINGS.items()]
        self.process = subprocess.Popen(
            [*self.prefix, self._program("postgres"), "-D", directory, "-k", socket_directory, *options],
            stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr,
        )
        import psycopg2

        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect().close()
                return
            except psycopg2.OperationalError as error:
                if self.process.poll() is not None:
                    raise BridgeError("store", "PostgreSQL ended with %d" % self.process.returncode) from error
                if time.monotonic() > end:
                    raise BridgeError("store", "PostgreSQL did not start in %d s: %s" % (START_SECONDS, error)) from error
                time.sleep(0.02)

    def _give_away(self, directory):
        """A copy belongs to whoever made it; the server wants its directory to be its own and closed to others."""
        if self.owner is not None:
            for place, _, files in os.walk(directory):
                for path in [place, *(os.path.join(place, name) for name in files)]:
                    os.chown(path, *self.owner)
        os.chmod(directory, 0o700)

    def _program(self, name):
        return os.path.join(self.programs, name)


def _another_user():
    """PostgreSQL refuses to run as root: it runs as nobody, who may pass the closed directories above its own."""
    if shutil.which("setpriv") is None:
        raise BridgeError("store", "PostgreSQL does not run as root, and there is no setpriv (util-linux) to change that")
    nobody = pwd.getpwnam("nobody")
    owner = (nobody.pw_uid, nobody.pw_gid)
    return [
        "setpriv", "--reuid", str(owner[0]), "--regid", str(owner[1]), "--clear-groups",
        "--inh-caps", "+dac_override", "--ambient-caps", "+dac_override",
        # Else the programs, asked whether they may run one another, would answer without that right.
        "--securebits", "+no_setuid_fixup",
    ], owner
