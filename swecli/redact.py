"""The one redactor: what looks like a key, a password or a token leaves a text before others see it.

Pure, and linear in the text's length: each repetition is bounded, possessive, or begins where no other one can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

# kind: shape, of what is known by its looks; the last row is what services choose nowadays.
_TOKENS = r"""
private key: -----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?![\"'`])(?:(?:[^-]|-(?!----))*+
  -----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:[\s\"'|>+#*]|\\[nr]|[A-Za-z0-9+/=]{4,}
  |[A-Z][\w-]{2,12}: ?[^\n]{1,200})*+)
Age key: AGE-SECRET-KEY-1[A-Z0-9]{20,}
AWS key: (?:AKIA|ASIA|ABIA|ACCA|AGPA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])(?:[\s,;:\"']{1,4}[A-Za-z0-9/+]{40}(?![\w/+=]))?
GitHub token: gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}
GitLab token: gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{16,}|GR1348941[\w-]{20,}
Slack token: xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-\d-[\w-]{10,}
Stripe key: (?:sk|rk)_(?:live|test|org)_\w{10,}|whsec_[\w+/=]{20,}
Anthropic key: sk-ant-[\w-]{16,}
API key: sk-(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Z]|[\w-]{0,20}[a-z0-9]{16})[\w-]{16,}|sk-[A-Za-z]{32,}
  |(?:gsk|xai|pplx|tvly)[_-][\w-]{20,}|r8_\w{20,}
Google key: AIza[\w-]{30,}|ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,}|1//0[\w-]{30,}
Azure secret: [\w~.-]{3}[78]Q~[\w~.-]{30,40}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}
Hugging Face token: (?:hf|api_org)_[A-Za-z0-9]{20,}
registry token: npm_[A-Za-z0-9]{20,}|pypi-(?=[\w-]{0,60}[A-Z0-9])[\w-]{40,}|rubygems_[a-f0-9]{40,}|cio[A-Za-z0-9]{32}\b
Docker token: dckr_(?:pat|oat)_[\w-]{20,}
Heroku key: HRKU-[\w-]{30,}
DigitalOcean token: do[opr]_v1_[a-f0-9]{20,}
Cloudflare key: v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|cf(?:ut|at|k|l)_[A-Za-z0-9]{30,}
New Relic key: NR(?:AK|JS|AA|RA|II|IQ)-[\w-]{16,}|[a-f0-9]{30,36}(?:FFFF)?NRAL
SendGrid key: SG\.[\w-]{16,32}\.[\w-]{16,}
Mailgun key: key-[a-f0-9]{32}|[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])
Mailchimp key: [a-f0-9]{32}-us\d{1,2}\b
Twilio key: (?:SK|AC)[a-f0-9]{32}(?!\w)(?::[a-f0-9]{32}(?!\w))?
Telegram token: (?:bot)?\d{8,12}:[\w-]{35}(?![\w-])
Discord token: [MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{27,}|mfa\.[\w-]{60,}
Shopify token: shp(?:at|ca|pa|ss|ua|tka|ltka)_[a-fA-F0-9]{20,}
Square token: sq0[a-z]{3}-[\w-]{20,}|EAAA[\w-]{60}(?![\w-])
PayPal token: access_token\$(?:production|sandbox)\$[\w$]{20,}|A21AA[\w-]{60,}
Facebook token: (?<![/+])EAA[A-Za-z0-9]{40,}|\d{15,17}\|[\w-]{27}(?![\w-])
LinkedIn token: WPL_AP\d\.[\w.=-]{10,}|(?<![/+])AQ[EUVWX][\w-]{100,}
Linear key: lin_(?:api|oauth|wh)_[A-Za-z0-9]{20,}
Notion token: ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,}
Figma token: fig[doru]{1,2}_[\w-]{20,}
Airtable token: pat[A-Za-z0-9]{14}\.[a-f0-9]{40,}
HubSpot token: pat-(?:na|eu|ap)\d-[a-f0-9-]{36}
Atlassian token: AT(?:ATT|CTT|STT|BB|OA)[\w=-]{28,}
Asana token: [0-2]/\d{10,}(?:/\d{10,})?:[a-f0-9]{32}
Vercel token: vc[pkiarc]_[A-Za-z0-9]{20,}
Netlify token: nf[pcuob]_[A-Za-z0-9]{30,}
Supabase key: sbp_(?:oauth_)?[a-f0-9]{20,}|sb_secret_[\w-]{20,}
PlanetScale token: pscale_(?:tkn|pw|oauth|otkn)_[\w.=-]{20,}
Postman key: PMAK-[a-f0-9]{24}-[a-f0-9]{30,}
Grafana token: gl(?:sa|c)_[\w+/=]{20,}
Sentry token: sntry[su]_[\w+/=-]{30,}
Vault token: hv[sbr]\.[\w-]{20,}
Terraform token: [A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}
Doppler token: dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{30,}
1Password token: ops_eyJ[\w=-]{40,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,4}[A-Z0-9]{5}\b
Databricks token: dapi[a-f0-9]{32}(?:-\d)?\b
Dropbox token: sl\.(?:u\.)?[\w-]{60,}
Dynatrace token: dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{40,}
Brevo key: xkeysib-[a-f0-9]{40,}-\w{16}
Resend key: re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}
Pulumi token: pul-[a-f0-9]{40}
Tailscale key: tskey-[a-z]{2,10}-[\w-]{16,}
Alibaba key id: LTAI[A-Za-z0-9]{12,26}(?!\w)
JSON web token: (?<!-)eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?
password hash: \$(?:2[abxy]|apr1|[156]|y|argon2(?:id?|d))\$[\w./$=,+-]{20,}
CircleCI token: CCI(?:PAT|PRJ)_\w{20,}
token: [a-z][a-z0-9]{1,9}(?:_[a-z0-9]{1,8}){0,2}_(?=[A-Za-z]{0,40}\d)(?=[a-z0-9]{0,40}[A-Z])(?=[A-Z0-9]{0,40}[a-z])
  [A-Za-z0-9]{30,}
"""
_PASSWORD = "passw(?:or)?d|passphrase|passwd|pwd"
# What a secret is called, in any case and however joined; `tokenizer`, `max_tokens`, `password_file` are no such names.
_NAME = (
    rf"(?P<n>(?:{_PASSWORD}|secret|(?:api|access|account|private|auth|app|application|license|service|integration"
    r"|signing|encryption|master)[ _-]?key|sharedaccesskey|(?<!publickey)token|credential|(?<![a-z])_?auth)s?"
    r"(?-i:(?![a-z]))(?<!tokens)(?![_-]?(?:file|path|url|uri|name|type|env|count|size|len|limit|expir|ttl))[\w-]{0,40})"
)
# kind (words, one of which is there): shape. The text around tells: `v` is the secret, `n` its name, `q` its quote.
_AROUND = r"""
secret (= : value): NAME(?:[\"'\\]{1,2}\]?)?\s{0,20}(?::\s?[\w.]{1,30}(?:\s?\|\s?None)?\s=|[:=?]=|[:=]>?
  |[\"',;]{0,2}\s{0,20}\\?[\"']?value\\?[\"']?\s{0,5}[:=])(?:\s{0,20}\w{0,2}(?P<q>\\?(?:\"\"\"|\'\'\'|[\"'`]))
  |[ \t]{0,20}(?:\\\n\s{0,20})?)(?=(?P<v>(?(q)(?:(?!(?P=q))(?:\\.|[^\n\\])){3,500}|[^\s\x1b,;&'\"`()\[\]{}<>]
  (?:[^\s\x1b,;&'\"`()\[\]{}<>]|[,;&](?!\s|$|[\w.-]{1,40}[=:])){2,500}+(?![(\[.]))))
secret (- set): (?:--?|\bsetx?\s(?:-\w{1,3}\s)*\w{0,40})NAME\s{1,3}(?:\\\n\s{0,20})?(?P<q>[\"'])?
  (?=(?P<v>[^\s\"'-][^\s\"']{3,200}))
secret (</): <[\w:.-]{0,40}NAME>(?P<q>)(?P<v>[^<\n]{4,500})</
password (=): (?m:(?P<n>PASSWORD)=(?P<q>)(?P<v>[a-z]{6,100})(?=$|[;&\s\x1b]))
password (://): ://[^\s:/@\"'<>]{0,100}:(?P<v>[^\s/\"'`<>]{1,200})@(?=[\w\[.-])
password (machine login): \b(?:machine|login)\s{1,20}\S{1,200}\s{1,20}(?P<n>password)\s{1,20}(?P<v>\S{3,200})
password (:): (?<!\S)[\w.*-]{1,100}:(?:\d{4,5}|\*):[\w*.-]{1,64}:[\w*.-]{1,64}:(?P<v>\S{4,200})
password (curl wget http): \b(?:curl|wget|https?)\s(?:[^\n|;]{0,200}?\s)?(?:-[ua]|--(?:proxy-)?user)[ =]?[\"']?
  [^\s:\"']{1,60}:(?P<v>[^\s\"']{3,200})
password (mysql mariadb sshpass redis mongo login): \b(?:mysql\w*|mariadb|sshpass|redis-cli|mongo\w*
  |(?:docker|podman|registry|az|oc) login)\s(?:[^\n|;&]{0,200}?\s)?-[pa]\s?(?P<n>)
  (?P<q>[\"'])?(?P<v>[^\s\"'-][^\s\"']{2,200})
password (convertto-securestring): ConvertTo-SecureString\s{1,5}(?:-String\s{1,5})?(?P<q>[\"'])(?P<v>[^\"'\n]{3,200})
token (://): ://(?P<v>[\w-]{20,200})@
token (bearer): \bbearer\s{1,4}(?=[\w.~+/=-]{0,200}\d)(?P<v>[\w.~+/=-]{12,})
token (basic token ssws apikey): \b(?-i:Basic|Token|SSWS|ApiKey) {1,4}(?=\S{0,60}\d)(?=\S{0,60}(?-i:[A-Z]))
  (?P<v>[\w.~+/=]{12,})
token (authorization): (?P<n>)authorization[\"']?\s{0,3}[:=,]\s{0,3}\\?[\"']?(?:[\w-]{2,20}\s{1,3})?
  (?:token=)?\\?[\"']?
  (?P<v>[^\s\"'\\,;()\[\]{}<>]{8,2000})(?![(\[])
signature (sig): [?&,;]\s?(?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))=(?P<v>[\w%+/=-]{16,})
cookie (cookie): \bcookie[\"']?\s{0,5}[:=]\s{0,5}\\?[\"']?(?P<v>[\w.%-]{1,60}=[^\s;\"']{8,}[^\n\"']{0,4000})
webhook (hook): (?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)
  |discord(?:app)?\.com/api(?:/v\d+)?/webhooks|webhook\.office\.com/webhookb2|hooks\.zapier\.com/hooks/catch)/(?P<v>[\w/@+.-]{12,})
password (login log-in credential zugang): \b(?:log-?in|credentials?|zugangsdaten)\s{1,9}(?:is|are|was|ist|laute[nt])
  \s{1,9}[\w.@-]{1,60}[:/](?!//)(?P<n>)(?P<v>\S{5,200})
secret (is was are ist laut war): \b(?P<n>PASSWORD|pass ?code|secret|token|api[ -]?key|passwort|kennwort|credentials?
  |zugangsdaten)\s{1,9}(?:(?:of|for|to|von|der|des|für|zur|zum)\s{1,9}(?:\w{1,40}\s{1,9}){1,3}?)?
  (?:is|was|are|ist|laute[nt]|war)\s{1,9}(?P<v>\S{4,200})
"""
_HARMLESS = (  # a placeholder, a reference, a pattern, a path, an address, a name in code
    r"\[redacted|#[0-9a-fA-F]{3,8}$|[,;)\]}]|.*(?:\\[wdsWDS]|\(\?|\[\^|%[sd])|\$[({]|\$\w+$|<|\{.*\}$|%\w*%?$|%\(|\*+$"
    r"|(?:~|\.{0,2})(?:/[a-z0-9._-]{1,30}){2,12}/?$|https?://|[A-Z]+(?:_[A-Z0-9]+)+$|[a-z_]\w*(?:\.[a-z_]\w*)+$"
    r"|(?i:.*(?:x{4}|\*{3}|\.\.\.|…|\{\w*\}|\$\{|(?<![a-z0-9])(?:your|example|placeholder|change.?me|dummy)))"
)
_STAND_INS = ("password", "passwd", "pass", "secret", "token", "user", "none", "null", "true", "false", "required")
# words joined, perhaps numbered: an identifier
_WORDS = r"[A-Za-z]+\d{0,2}(?:[ _./:-][A-Za-z]+\d{0,2})*$"
# what one of the shapes needs at least: most titles have none of it, and none of them is compiled for those
_SUSPECT = r"(?i)\S{12}|[:=]|\s-|pass|pwd|secret|token|key|auth|credential|kennwort|zugang|log-?in"


@cache
def _compiled() -> tuple[list[str], re.Pattern[str], list[tuple[str, list[str], re.Pattern[str]]]]:
    """The shapes, at first use: a start that has nothing to redact does not pay for them."""
    tokens = [row.split(": ", 1) for row in _TOKENS.strip().replace("\n  ", "").split("\n")]
    starts = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]|[0-9;]m))(?=-----BEGIN |[\w.:$/~|=-]{16})"
    around = []
    for row in _AROUND.strip().replace("\n  ", "").replace("NAME", _NAME).replace("PASSWORD", _PASSWORD).split("\n"):
        head, shape = row.split("): ", 1)
        kind, words = head.split(" (")
        around.append((kind, words.split(), re.compile(shape, re.IGNORECASE)))
    return (
        [kind for kind, _ in tokens],
        re.compile(starts + "(?:" + "|".join(f"({s})" for _, s in tokens) + ")"),
        around,
    )


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) of every secret, as each shape finds it; they may overlap."""
    if not re.search(_SUSPECT, text):
        return
    kinds, tokens, around = _compiled()
    for token in tokens.finditer(text):
        yield token.start(), token.end(), kinds[(token.lastindex or 1) - 1]
    lower = text.lower()
    for kind, words, pattern in around:
        at = 0 if any(word in lower for word in words) else len(text)
        while match := pattern.search(text, at):
            (start, end), at = match.span("v"), match.end()
            if _plausible(text[start:end], match.groupdict()):
                while end - start >= 500 and text[end : end + 1] not in ("", *" \t\r\n\"'`,;&<>"):
                    end += 1  # longer than the shape looks at a time
                at = max(at, end)
                yield start, end, kind


def _plausible(value: str, groups: dict[str, str | None]) -> bool:
    """Whether a value is one: no placeholder, reference, path, sentence or piece of code.

    Args:
        groups: `n` the name before it ("" for a password's) and `q` its quote, where the shape has them.
    """
    value = value.strip("\\\"'`").rstrip(".,;:!?)")
    if len(value) < 3 or re.match(_HARMLESS, value, re.DOTALL):
        return False
    name, quoted = groups.get("n"), groups.get("q") is not None
    if name is None:
        return value.lower() not in _STAND_INS
    if name == "" or re.match("pass|pwd|kenn", name, re.IGNORECASE):
        if quoted and value.replace(" ", "").isalpha() and value.islower():
            return len(value) >= 6 and value not in _STAND_INS
        sentence = " " in value and value[0].isupper()
        return not sentence and (_mixed(value) or (quoted and value.isdigit()))
    least = 12 if name.lower().strip("_") == "auth" else 6
    odd = _shuffled(value) or (not re.match(_WORDS, value) and _mixed(value))
    return odd and len(value) >= least and " " not in value


def _mixed(value: str) -> bool:
    """Whether there are letters, and digits or signs or both cases among them, as in no word."""
    letters = any(c.isalpha() for c in value)
    return letters and (any(c.isdigit() or c in "!@#$%^&*+=~?" for c in value) or _shuffled(value))


def _shuffled(value: str) -> bool:
    """Whether there are too many capitals among small letters for words that are joined: `dWbOfHyiLanE`."""
    return len(value) >= 12 and len(value) <= 4 * sum(c.isupper() for c in value) <= 3 * len(value)


def redact(text: str) -> str:
    """The text with `[redacted: KIND]` for every recognised secret; names, user names and all else stay."""
    return redact_part(text, 0, len(text))


def redact_part(text: str, start: int, end: int) -> str:
    """The part of the text from `start` to `end`; a secret that reaches into it is seen whole."""
    parts: list[str] = []
    done = start
    for first, last, kind in sorted(_secrets(text), key=lambda found: (found[0], -found[1])):
        if last <= done or first >= end:
            continue
        if first >= done:
            parts += [text[done:first], f"[redacted: {kind}]"]
        elif done == start:
            parts.append(f"[redacted: {kind}]")
        done = last
    return "".join([*parts, text[done:end]])


def has_secret(text: str) -> bool:
    """Whether a secret is in the text, or was before it was redacted."""
    return "[redacted" in text or next(_secrets(text), None) is not None


def redact_value(value: Any, limit: int | None = None) -> Any:
    """Plain JSON data with every string in it redacted, and cut to `limit` characters where one is given."""
    if isinstance(value, str):
        clean = redact(value)
        return clean if limit is None or len(clean) <= limit else clean[:limit] + f"… ({len(clean)} characters)"
    if isinstance(value, dict):
        return {redact(str(key)): _redact_pair(str(key), item, limit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_value(item, limit) for item in value]
    return value


def _redact_pair(key: str, value: Any, limit: int | None) -> Any:
    """A value under its name: what stands under `password` and the like is a secret whatever it looks like."""
    if (
        isinstance(value, str)
        and value
        and not re.match(_HARMLESS, value, re.DOTALL)
        and re.search(_NAME, key, re.IGNORECASE)
    ):
        return "[redacted: secret]"
    return redact_value(value, limit)
