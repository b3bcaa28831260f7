"""The provider of web searches that the user configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import quote

from swecli.models.errors import ConfigError
from swecli.values import dataclass

_QUERY = "{query}"
_KEY = "{key}"


@dataclass(frozen=True, slots=True)
class SearchProvider:
    """Where searches are sent, and with which key."""

    url: str  # a template with {query}, and {key} if the key belongs there
    header: str = ""  # a template like `X-Subscription-Token: {key}`; "" for none
    key: str = field(default="", repr=False)

    @classmethod
    def of(
        cls, url: str, header: str, key_name: str, environ: Mapping[str, str]
    ) -> SearchProvider | None:
        """Return the provider of these settings, None if no URL is set. `key_name` is the variable that holds the key.
        Raises ConfigError if something is missing."""
        if not url:
            return None
        if _QUERY not in url:
            raise ConfigError(
                "search_url has no {query}.", 'Write it like "https://host/?q={query}".'
            )
        if header and ": " not in header:
            raise ConfigError("search_header is no header.", 'Write it like "X-Token: {key}".')
        key = environ.get(key_name, "") if key_name else ""
        if _KEY in url + header and not key:
            raise ConfigError(
                f"The key for web searches is missing: {key_name or 'search_key_env'} is not set.",
                "Set search_key_env to the name of a variable that holds it.",
            )
        return cls(url, header, key)

    def address(self, query: str) -> str:
        """Return the URL of a search."""
        filled = self.url.replace(_QUERY, quote(query, safe=""))
        return filled.replace(_KEY, quote(self.key, safe=""))

    def headers(self) -> tuple[tuple[str, str], ...]:
        if not self.header:
            return ()
        name, _, value = self.header.partition(": ")
        return ((name, value.replace(_KEY, self.key)),)
