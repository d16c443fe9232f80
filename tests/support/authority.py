"""Authority: a certificate authority for one test. It issues certificates for any names:

    authority = Authority(folder)
    certificate = authority.issue("DNS:localhost,IP:127.0.0.1")     # a file with the certificate and its key
    authority.file                                                  # for the client that has to trust it
"""
import subprocess

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Authority:
    def __init__(self, folder, name="test authority"):
        self._folder, self._issued = folder, 0
        folder.mkdir(parents=True, exist_ok=True)
        self.file, self._key = folder / "authority.pem", folder / "authority.key"
        self._openssl("req", "-x509", *NEW_KEY, "-days", "2", "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.file)

    def issue(self, names):
        """A certificate for `names`, which have openssl's form of a subjectAltName."""
        self._issued += 1
        request, key, alone, whole = (self._folder / f"{self._issued}.{end}" for end in ("csr", "key", "crt", "pem"))
        extensions = self._folder / f"{self._issued}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        self._openssl("req", *NEW_KEY, "-subj", "/CN=server", "-keyout", key, "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self._key, "-CAcreateserial", "-days", "2",
                      "-extfile", extensions, "-out", alone)
        whole.write_text(alone.read_text() + key.read_text())
        return whole

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
