"""Secrets in the formats of well-known services, generated at run time because hosts block repositories that contain
them. In a shape, `<A36>` stands for 36 random characters: A letters and digits, H hex, U upper case and digits, L
lower case and digits, D digits, B base64, W word characters and hyphens, C letters. The part between « and » must be
masked."""

from __future__ import annotations

import random
import re
import string
from functools import cache

ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "U": string.ascii_uppercase + "234567",
    "L": string.ascii_lowercase + string.digits,
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "W": string.ascii_letters + string.digits + "-_",
    "C": string.ascii_letters,
}
UUID = "<H8>-<H4>-<H4>-<H4>-<H12>"
JWT = "eyJ<W30>.eyJ<W60>.<W43>"

SHAPES = r"""
AWS access key id | «AKIA<U16>»
AWS temporary key id | «ASIA<U16>»
AWS secret in a profile | aws_secret_access_key = «<B40>»
AWS secret in the environment | export AWS_SECRET_ACCESS_KEY=«<B40>»
AWS secret as JSON | "SecretAccessKey": "«<B40>»"
AWS session token | aws_session_token=«<B300>»
GitHub personal | «ghp_<A36>»
GitHub OAuth | «gho_<A36>»
GitHub user to server | «ghu_<A36>»
GitHub server | «ghs_<A36>»
GitHub refresh | «ghr_<A76>»
GitHub fine-grained | «github_pat_<A22>_<A59>»
GitLab personal | «glpat-<W20>»
GitLab routable | «glpat-<W27>.01.<L9>»
GitLab deploy | «gldt-<W20>»
GitLab runner | «glrt-<W20>»
GitLab trigger | «glptt-<H40>»
GitLab runner registration | «GR1348941<W20>»
Slack bot | «xoxb-<D12>-<D13>-<A24>»
Slack user | «xoxp-<D12>-<D12>-<D12>-<H32>»
Slack configuration | «xoxe.xoxp-1-<A146>»
Slack app | «xapp-1-A<U10>-<D13>-<H64>»
Slack webhook | https://hooks.slack.com/services/«T<U8>/B<U10>/<A24>»
Stripe secret | «sk_live_<A24>»
Stripe restricted | «rk_live_<A99>»
Stripe test | «sk_test_<A24>»
Stripe webhook | «whsec_<A32>»
OpenAI | «sk-<A20>T3BlbkFJ<A20>»
OpenAI project | «sk-proj-<W74>T3BlbkFJ<W73>A»
OpenAI service account | «sk-svcacct-<W58>T3BlbkFJ<W58>A»
Anthropic | «sk-ant-api03-<W93>AA»
OpenRouter | «sk-or-v1-<H64>»
DeepSeek | «sk-<H32>»
Fireworks | «fw_<A22>»
Cerebras | «csk-<L48>»
ElevenLabs | «sk_<H48>»
Voyage | «pa-<W40>A1x»
Jina | «jina_<H32><W28>»
Firecrawl | «fc-<H32>»
Brave | «BSA<A26>1»
LangSmith personal | «lsv2_pt_<H32>_<H10>»
LangSmith service | «lsv2_sk_<H32>_<H10>»
Langfuse | «sk-lf-UUID»
Helicone | «sk-helicone-<L7>-<L7>-<L7>-<L7>»
Pinecone | «pcsk_<A6>_<A63>»
Neon | «napi_<L64>»
Render | «rnd_<A28>»
Honeycomb | «hcaik_<L58>»
Axiom | «xaat-UUID»
JFrog | «AKCp<A69>»
JFrog reference | «cmVmdGtu<A56>»
Infisical | «st.<H24>.<H32>.<H32>»
Bitwarden | «0.UUID.<A30>:<B22>==»
Bedrock | «ABSKQmVkcm9ja0FQSUtleS1<B104>»
Algolia | algoliasearch("<U10>", "«<H32>»")
Snyk | snyk auth «UUID»
Sourcegraph | «sgp_<H16>_<H40>»
Buildkite | «bkua_<H40>»
password in French | le mot de passe est «<A10>1»
password in Spanish | la contraseña es «<A10>1»
password in Japanese | パスワードは«<A10>1»
Groq | «gsk_<A52>»
xAI | «xai-<A80>»
Perplexity | «pplx-<A48>»
Replicate | «r8_<A37>»
Google API | «AIza<W35>»
Google OAuth access | «ya29.<W100>»
Google OAuth client | «GOCSPX-<W28>»
Google refresh | «1//0<W80>»
Google service account | {"private_key": "«-----BEGIN PRIVATE KEY-----\\n<B64>\\n<B40>\\n-----END PRIVATE KEY-----»\\n"}
Azure storage | DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=«<B86>==»;EndpointSuffix=core.windows.net
Azure service bus | Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«<B43>=»
Azure SAS | https://shop.blob.core.windows.net/a?sv=2022-11-02&se=2030-01-01&sig=«<A43>%3D»
Azure client secret | «<A3>8Q~<A34>»
Azure DevOps | «<A76>AZDO<A4>»
Azure AI | «<A52>JQQJ99<A26>»
SQL Server | Server=tcp:db,1433;User ID=shop;Password=«<A12>!7»;Encrypt=True
Hugging Face | «hf_<C34>»
npm | «npm_<A36>»
PyPI | «pypi-AgEIcHlwaS5vcmc<W150>»
RubyGems | «rubygems_<H48>»
crates.io | «cio<A32>»
Docker personal | «dckr_pat_<W27>»
Docker organisation | «dckr_oat_<W32>»
Heroku | HEROKU_API_KEY=«UUID»
Heroku with prefix | «HRKU-AA<W58>»
DigitalOcean | «dop_v1_<H64>»
DigitalOcean OAuth | «doo_v1_<H64>»
Cloudflare | CLOUDFLARE_API_TOKEN=«<W39>7»
Cloudflare global | X-Auth-Key: «<H37>»
Cloudflare origin | «v1.0-<H24>-<H146>»
Datadog | DD_API_KEY=«<H32>»
Datadog header | DD-APPLICATION-KEY: «<H40>»
New Relic user | «NRAK-<U27>»
New Relic license | «<H36>NRAL»
PagerDuty | Authorization: Token token=«<W19>7»
PagerDuty key | PAGERDUTY_API_KEY: «u+<W17>7»
SendGrid | «SG.<W22>.<W43>»
Mailgun | «key-<H32>»
Mailgun new | «<H32>-<H8>-<H8>»
Mailchimp | «<H32>-us14»
Twilio key | «SK<H32>»
Twilio account | «AC<H32>»
Twilio token | TWILIO_AUTH_TOKEN=«<H32>»
Telegram | «<D10>:AA<W33>»
Telegram in a URL | https://api.telegram.org/«bot<D10>:AA<W33>»/getMe
Discord bot | «M<A25>.<W6>.<W38>»
Discord webhook | https://discord.com/api/webhooks/«<D18>/<W68>»
Shopify admin | «shpat_<H32>»
Shopify app | «shpss_<H32>»
Square | «sq0atp-<W22>»
Square secret | «sq0csp-<W43>»
Square access | «EAAA<W60>»
PayPal | «access_token$production$<L16>$<H32>»
PayPal client | PAYPAL_CLIENT_SECRET=«E<W79>»
Facebook | «EAA<A150>»
Facebook app | «<D16>|<W27>»
LinkedIn | LINKEDIN_CLIENT_SECRET="«WPL_AP1.<A16>.<A6>==»"
LinkedIn access | «AQV<W200>»
Linear | «lin_api_<A40>»
Notion | «ntn_<D11><A35>»
Notion old | «secret_<A43>»
Figma | «figd_<W40>»
Airtable | «pat<A14>.<H64>»
HubSpot | «pat-na1-UUID»
Atlassian | «ATATT3xFfGF0<W160>=<U8>»
Bitbucket | «ATBB<A32>»
Asana | «1/<D16>:<H32>»
Vercel | «vcp_<A56>»
Vercel old | VERCEL_TOKEN=«<A23>7»
Netlify | «nfp_<A36>»
Supabase | «sbp_<H40>»
Supabase secret | «sb_secret_<W31>»
PlanetScale | «pscale_tkn_<W43>»
PlanetScale password | «pscale_pw_<W43>»
Postman | «PMAK-<H24>-<H34>»
Grafana service | «glsa_<A32>_<H8>»
Grafana cloud | «glc_eyJ<A80>»
Sentry user | «sntryu_<H64>»
Sentry organisation | «sntrys_eyJ<A120>=_<B43>»
Vault | «hvs.<W90>»
Vault batch | «hvb.<W140>»
Terraform | «<A14>.atlasv1.<W67>»
Doppler | «dp.pt.<A43>»
Doppler service | «dp.st.prd.<A43>»
1Password service | «ops_eyJ<A250>»
1Password secret | «A3-<U6>-<U6>-<U5>-<U5>-<U5>-<U5>»
Age | «AGE-SECRET-KEY-1<U58>»
Databricks | «dapi<H32>»
Dropbox | «sl.<W130>»
Dynatrace | «dt0c01.<U24>.<U64>»
Brevo | «xkeysib-<H64>-<A16>»
Resend | «re_<A8>_<A24>»
Pulumi | «pul-<H40>»
Tailscale | «tskey-auth-<A12>-<A32>»
Alibaba | «LTAI<A20>»
Tencent | TENCENT_SECRET_ID=«AKID<A32>»
Algolia | ALGOLIA_ADMIN_API_KEY=«<H32>»
Okta | Authorization: SSWS «00<W40>»
CircleCI | «CCIPAT_<A22>_<H40>»
Buildkite | «bkua_<A40>»
JSON web token | «JWT»
JSON web token in a header | Authorization: Bearer «JWT»
Bearer | curl -H "Authorization: Bearer «<W40>7»" https://example.org
Basic | Authorization: Basic «<A27>7==»
RSA key | «-----BEGIN RSA PRIVATE KEY-----\n<B64>\n<B64>\n<B20>=\n-----END RSA PRIVATE KEY-----»
EC key | «-----BEGIN EC PRIVATE KEY-----\n<B64>\n<B64>==\n-----END EC PRIVATE KEY-----»
OpenSSH key | «-----BEGIN OPENSSH PRIVATE KEY-----\n<B70>\n<B70>\n<B70>\n-----END OPENSSH PRIVATE KEY-----»
encrypted key | «-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128-CBC,A1\n\n<B64>\n-----END RSA PRIVATE KEY-----»
PGP key | «-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n<B64>\n=<B4>\n-----END PGP PRIVATE KEY BLOCK-----»
key cut off | «-----BEGIN PRIVATE KEY-----\n<B64>\n<B64>\n<B31>»
Postgres URL | postgres://shop:«<A14>»@db.internal:5432/shop
Redis URL | redis://:«<A20>»@cache:6379/0
Mongo URL | mongodb+srv://shop:«<A14>!9»@cluster0.mongodb.net
AMQP URL | amqp://shop:«<A9>%40<A4>»@rabbit:5672/%2f
Git URL | https://x-token:«<A24>»@git.example.org/shop.git
Git URL with a token alone | https://«<H40>»@git.example.org/shop.git
quoted password | password = "«<A12>»"
quoted password with signs | password = '«p$<A5>!<A4>»'
password in words | DB_PASSWORD='«correct horse battery»'
password of letters | DB_PASSWORD=«correcthorsebattery»
key in an env file | API_KEY=«<A32>»
quoted key in an env file | STRIPE_SECRET="«<A32>»"
key in YAML | api_key: «<H32>»
quoted key in YAML | clientSecret: '«<A32>»'
Kubernetes env | - name: DB_PASSWORD\n  value: «<A16>»
web.config | <add key="ApiKey" value="«<A24>»" />
XML | <password>«<A14>»</password>
key in JSON | {"apiKey": "«<A24>»", "n": 1}
key in JSON in JSON | {\\"client_secret\\": \\"«<A24>»\\"}
key in TOML | access_token = "«<A40>»"
key in Python | settings["SECRET_KEY"] = "«<W20>^7<A20>»"
key in typed Python | auth_token: str = "«<A32>»"
key in JavaScript | const apiKey = `«<A32>»`
key in Go | token := "«<A32>»"
key in PHP | 'password' => '«<A16>»'
PowerShell | $env:API_KEY = "«<A32>»"
PowerShell secure string | ConvertTo-SecureString "«<A8>!7»" -AsPlainText -Force
fish | set -gx API_TOKEN «<A31>7»
Windows | setx API_TOKEN «<A31>7»
flag | deploy --password «<A12>7» --yes
flag with equals | deploy --api-key=«<A32>»
flag on the next line | deploy --token \\\n  «<A32>7»
MySQL | mysql -u root -p«<A10>7» shop
sshpass | sshpass -p '«<A10>7»' ssh host
docker login | docker login -u shop -p «<A10>7» registry.example.org
curl | curl -u shop:«<A14>» https://example.org
cookie | Cookie: «sessionid=<L32>; csrftoken=<A32>»
set-cookie | Set-Cookie: «sid=<L32>; Path=/; HttpOnly»
header | X-Api-Key: «<A32>»
query | https://example.org/v1?api_key=«<A32>»&limit=5
npmrc | //registry.example.org/:_authToken=«UUID»
npmrc old | _auth="«<A27>7=»"
netrc | machine example.org login shop password «<A14>7»
netrc in lines | machine example.org\n  login shop\n  password «<A14>7»
pgpass | db.internal:5432:shop:admin:«<A14>»
docker config | {"auths": {"example.org": {"auth": "«<A27>7=»"}}}
bcrypt | «$2b$12$<A53>»
spoken | the password is «<A8>7!»
"""
HARMLESS = r"""
id 123e4567-e89b-12d3-a456-426614174000 is unknown
commit 3f786850e387550fdab836ed7e6dc881de23001b
Merge branch 'main' of https://github.com/example/token-service
--hash=sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
checksum = "d41d8cd98f00b204e9800998ecf8427e"
<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw==">
color: #ff8800; background: #1a2b3c4d
def test_that_a_rather_long_function_name_with_2_numbers_in_it_is_left_alone(): ...
/usr/lib/python3.11/site-packages/token_service/secret_store/key_manager.py
arn:aws:iam::123456789012:role/service-role/token-rotation-lambda
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKmYk0aPGcm3bGZQX2fXyF1q2w3e4r5t6y7u8i9o0pas user@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDw4o6gJy8UtmIbkcpnkO3Kwc4qsEnSZp user@host
-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n-----END PUBLIC KEY-----
-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----
API_KEY=your-key-here
API_KEY=$TOKEN
API_KEY=${API_KEY}
const client = new Client({ apiKey: process.env.API_KEY, token: import.meta.env.VITE_TOKEN })
fw_cfg_add_file_callback and fc-list, fc-cache-regenerate-all-the-fonts
pa-review-of-the-whole-page-and-its-parts-in-order
BSAFE-library-and-its-documented-users
sk_learn_pipeline_configuration_for_tests
rnd_generator_for_the_simulation
napi_create_reference_with_finalizer
le mot de passe est requis
la contraseña es obligatoria
password: ${{ secrets.DB_PASSWORD }}
api_key: <your api key>
key = os.environ["API_KEY"]
token = os.environ.get("GITHUB_TOKEN", "")
password = getpass()
password = getpass.getpass("Password: ")
the password is wrong
the password is wrong!
the token is checked first, then the secret
def login(user: str, password: str, token: str | None = None) -> None:
if (password == other.password) return token2name(password)
max_tokens=4096, prompt_tokens: 123456, total_tokens=99
tokenizer = "gpt2-medium"
token_type: bearer
password_file=/run/secrets/db_password1
passwords = ["weak", "strong"]
curl -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com
https://user@example.org/path and user@example.org:22
http://localhost:8080/login@home
mkdir -p build/output1 && ssh -p 2222 host && docker run -u 1000:1000 image
secret: base64-encoded
"sk-learn", "sk-estimator-doc-link", class="sk-toggleable__content"
const hf_model_name_or_path = pick(hf_models)
token = request.headers["X-Token"]
client_secret = settings.oauth2.client_secret
--token TOKEN  the token to use (default: $GITHUB_TOKEN)
version 1.2.3-beta.4+build.20240101 of secret-service
Bearer authentication is used; Basic authentication is not
"password": "Required. 8 characters or more."
00:1A:2B:3C:4D:5E and fe80::1ff:fe23:4567:890a
src/token.py:120:secret:key:value
2024-01-01T00:00:00Z 192.168.0.1:5432 connected
"""


def _fill(shape: str, seed: str) -> str:
    dice = random.Random(seed)
    shape = shape.replace("UUID", UUID).replace("JWT", JWT)

    def run(match: re.Match[str]) -> str:
        return "".join(dice.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"<([A-Z])(\d+)>", run, shape)


def _lines(table: str) -> list[str]:
    return [
        line.replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\")
        for line in table.strip().split("\n")
    ]


@cache
def secrets(seed: int = 0) -> dict[str, tuple[str, str]]:
    """Return, by kind of secret, a text as it appears in files and the secret in it."""
    made = {}
    for name, shape in (line.split(" | ", 1) for line in _lines(SHAPES)):
        text = _fill(shape, f"{seed}{name}")
        made[name] = (
            text.replace("«", "").replace("»", ""),
            text[text.index("«") + 1 : text.index("»")],
        )
    return made


def harmless() -> list[str]:
    """Return lines that resemble secrets and contain none."""
    return _lines(HARMLESS)
