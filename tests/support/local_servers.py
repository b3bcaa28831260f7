"""An environment in which no model server of this machine is found, whatever runs on it."""

from __future__ import annotations

from swecli.llm.services import LOCAL

# an address on another machine is not probed
NO_LOCAL_SERVERS = {f"{service.name.upper()}_BASE_URL": "http://box.test:9/v1" for service in LOCAL}
