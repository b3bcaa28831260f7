"""Test services behind a private certificate authority or an HTTP proxy, configured by environment variables."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from swecli.config.model_entry import parse_models
from swecli.config.settings import Settings
from swecli.llm import http
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.models.errors import ProviderError, Unavailable
from tests.support.model_requests import ask, request
from tests.support.strict_provider import Reply, StrictProvider

pytestmark = pytest.mark.slow


def model_behind(address: str) -> ChatModel:
    table = {"api": "openai", "model": "gpt-4.1", "base_url": address, "key_env": "KEY"}
    return make_model("work", Settings(models=parse_models({"work": table})), {"KEY": "test-key"})


@pytest.fixture
def private_authority(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """Return the SSL context of a server, and the certificate of the authority that signed its certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    certificate, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=house", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


async def test_a_private_certificate_authority_in_ssl_cert_file_is_trusted(
    private_authority: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    context, certificate = private_authority
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with StrictProvider([Reply("hi")], tls=context) as server:
        assert (await ask(model_behind(server.openai_base), request())).text == "hi"


async def test_an_untrusted_certificate_is_an_error_that_names_ssl_cert_file_and_nothing_is_sent(
    private_authority: tuple[ssl.SSLContext, Path],
) -> None:
    with StrictProvider([Reply("hi")], tls=private_authority[0]) as server:
        with pytest.raises(ProviderError, match="certificate.*is not accepted.*SSL_CERT_FILE"):
            await ask(model_behind(server.openai_base), request())
        assert not server.requests


class _Proxy(ThreadingHTTPServer):
    """A proxy that forwards requests for `gateway.example` to a server on this machine."""

    daemon_threads = True
    asked: list[str]
    to: int


class _Forward(BaseHTTPRequestHandler):
    server: _Proxy

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        self.server.asked.append(url.netloc)
        body = self.rfile.read(int(self.headers["content-length"]))
        onward = HTTPConnection("127.0.0.1", self.server.to)
        onward.request("POST", url.path, body, {"authorization": self.headers["authorization"]})
        answer = onward.getresponse()
        self.send_response(answer.status)
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(answer.read())
        onward.close()

    def log_message(self, format: str, *args: object) -> None:  # the base class calls it so
        """Do not log."""


@pytest.fixture
def proxy() -> Iterator[_Proxy]:
    running = _Proxy(("127.0.0.1", 0), _Forward)
    running.asked, running.to = [], 0
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join(10)


async def test_a_proxy_of_the_environment_receives_the_request_for_an_unknown_host(
    proxy: _Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
    with StrictProvider([Reply("hi")]) as server:
        proxy.to = server.port
        assert (await ask(model_behind("http://gateway.example/v1"), request())).text == "hi"
    assert proxy.asked == ["gateway.example"]


async def test_a_host_in_no_proxy_is_requested_directly(
    proxy: _Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
    monkeypatch.setenv("NO_PROXY", "gateway.example")
    with pytest.raises(ProviderError):
        await ask(model_behind("http://gateway.example/v1"), request())
    assert not proxy.asked


@pytest.mark.parametrize(
    ("no_proxy", "is_asked"),
    [
        ("10.0.0.0/8,192.0.2.0/24", False),
        (" 192.0.2.7/24 ", False),
        ("10.0.0.0/8", True),
        ("192.0.2.0/99,fd00::/8", True),
    ],
)
async def test_a_network_in_no_proxy_is_requested_directly(
    proxy: _Proxy, no_proxy: str, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    monkeypatch.setattr(http, "_CONNECT_SECONDS", 0.2)  # nobody answers at this address
    with pytest.raises(ProviderError):
        await ask(model_behind("http://192.0.2.1/v1"), request())
    assert bool(proxy.asked) == is_asked


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_this_machine_is_never_asked_through_a_proxy(
    proxy: _Proxy, variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.server_port}")
    with StrictProvider([Reply("hi")]) as server:
        address = f"http://{host}:{server.port}/v1"
        assert (await ask(model_behind(address), request())).text == "hi"
    assert not proxy.asked


async def test_an_unreachable_proxy_is_reported_as_connection_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="connection refused"):
        await ask(model_behind("http://gateway.example/v1"), request())
    with pytest.raises(Unavailable, match="the proxy in HTTP_PROXY"):
        await ask(model_behind("http://gateway.example/v1"), request())


@pytest.mark.parametrize(
    "variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]
)
async def test_certificates_of_other_tools_variables_are_trusted_too(
    variable: str,
    private_authority: tuple[ssl.SSLContext, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context, certificate = private_authority
    for usual in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(usual, raising=False)
    monkeypatch.setenv(variable, str(certificate))
    with StrictProvider([Reply("hi")], tls=context) as server:
        assert (await ask(model_behind(server.openai_base), request())).text == "hi"


async def test_a_missing_file_of_certificates_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for usual in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(usual, raising=False)
    monkeypatch.setenv("CURL_CA_BUNDLE", "/nowhere.pem")
    with pytest.raises(ProviderError, match="CURL_CA_BUNDLE .* No such file"):
        await ask(model_behind("https://gateway.example/v1"), request())


async def test_an_invalid_proxy_variable_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://127.0.0.1:9")
    with pytest.raises(ProviderError, match="proxy variables cannot be used") as caught:
        await ask(model_behind("http://gateway.example/v1"), request())
    assert not caught.value.retryable
    assert "ALL_PROXY" in caught.value.hint
