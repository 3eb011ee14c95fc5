"""Secrets made up at random, in the forms that providers publish: none ever opened anything."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable

UPPER = string.ascii_uppercase + string.digits
ANY = string.ascii_letters + string.digits
HEX = string.hexdigits.lower()[:16]


def some(n: int, alphabet: str = ANY) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(alphabet, k=n))


FORMS: dict[str, tuple[str | Callable[[random.Random], str], ...]] = {
    "AWS access key": ("AKIA", some(16, UPPER)),
    "AWS session key": ("ASIA", some(16, UPPER)),
    "GitHub": ("ghp_", some(36)),
    "GitHub app": ("ghs_", some(36)),
    "GitHub fine-grained": ("github_pat_", some(22), "_", some(59)),
    "GitLab": ("glpat-", some(20)),
    "Slack bot": ("xoxb-", some(12, string.digits), "-", some(12, string.digits), "-", some(24)),
    "Slack app": ("xapp-1-", some(11, UPPER), "-", some(13, string.digits), "-", some(64, HEX)),
    "Slack webhook": ("hooks.slack.com/services/T", some(8, UPPER), "/B", some(8, UPPER), "/", some(24)),
    "Discord webhook": ("discord.com/api/webhooks/", some(18, string.digits), "/", some(68)),
    "Telegram": (some(10, string.digits), ":AA", some(33)),
    "Google": ("AIza", some(35)),
    "Google client": ("GOCSPX-", some(28)),
    "Stripe": ("sk_live_", some(24)),
    "Stripe restricted": ("rk_live_", some(24)),
    "Stripe webhook": ("whsec_", some(32)),
    "OpenAI": ("sk-proj-", some(48)),
    "OpenAI old": ("sk-", some(48)),
    "Anthropic": ("sk-ant-api03-", some(93), "AA"),
    "Hugging Face": ("hf_", some(34)),
    "npm": ("npm_", some(36)),
    "PyPI": ("pypi-AgEIcHlwaS5vcmc", some(80)),
    "Docker": ("dckr_pat_", some(27)),
    "SendGrid": ("SG.", some(22), ".", some(43)),
    "Mailgun": ("key-", some(32, HEX)),
    "Mailchimp": (some(32, HEX), "-us14"),
    "Twilio": ("SK", some(32, HEX)),
    "DigitalOcean": ("dop_v1_", some(64, HEX)),
    "Databricks": ("dapi", some(32, HEX)),
    "Vault": ("hvs.", some(28)),
    "Terraform": (some(14), ".atlasv1.", some(67)),
    "Azure storage": ("AccountKey=", some(86), "=="),
    "Shopify": ("shpat_", some(32, HEX)),
    "Square": ("sq0atp-", some(22)),
    "Linear": ("lin_api_", some(40)),
    "Postman": ("PMAK-", some(24, HEX), "-", some(34, HEX)),
    "Atlassian": ("ATATT3", some(120)),
    "Figma": ("figd_", some(40)),
    "Grafana": ("glsa_", some(32), "_", some(8, HEX)),
    "New Relic": ("NRAK-", some(27, UPPER)),
    "web token": ("eyJ", some(20), ".eyJ", some(40), ".", some(43)),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\n", some(64), "\n", some(64), "\n-----END RSA PRIVATE KEY-----"),
}

PLACES = {
    "a source": 'client = Client("{}")\n',
    "an environment file": "DEBUG=1\nSOME_VALUE={}\nPORT=80\n",
    "a notebook": '{{"cells": [{{"cell_type": "code", "source": ["x = \\"{}\\"\\n"]}}]}}',
    "a diff": "@@ -1 +1 @@\n-x = 1\n+x = '{}'\n",
    "a traceback": "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: '{}'\n",
    "a comment": "# the old one was {} until May\n",
}


def made(name: str, seed: int) -> str:
    """A secret of that form, the same for the same seed."""
    chance = random.Random(f"{name} {seed}")
    return "".join(part if isinstance(part, str) else part(chance) for part in FORMS[name])


def placed(secret: str, place: str) -> str:
    """A text of one of `PLACES` with *secret* in it."""
    return PLACES[place].format(json.dumps(secret)[1:-1] if place == "a notebook" else secret)


def telling_part(secret: str) -> str:
    """The longest run of *secret* without a line end or a slash: nobody may read even that."""
    return max(re.split(r"[\\\n/]+n?", secret), key=len)
