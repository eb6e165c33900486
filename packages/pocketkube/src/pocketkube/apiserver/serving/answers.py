"""Answers as bytes: objects, Statuses and lists in the form the client asked for.

The one place where a `Refused` becomes a reply. Small answers leave as they are; large ones are compressed for clients that
take gzip, with the weakest setting, for the network here is the loopback.
"""

from collections.abc import Mapping, Sequence
import gzip
from typing import Any

import msgspec
import yaml

from kubeloop.net.server import Reply
from kubeloop.objects import codec
from kubeloop.objects.machinery import Status
from pocketkube.apiserver.serving import documents
from pocketkube.apiserver.serving.call import Answer, Call
from pocketkube.apiserver.serving.negotiation import PLAIN, YAML, Form

COMPRESSED_FROM = 128 * 1024
"""Bytes from which compression is worth its time, as a real server sees it."""

_LONGEST_WARNING, _LONGEST_WARNINGS = 4096, 10_240

Object = dict[str, Any]


def status(found: Status) -> Object:
    """A Status as JSON, with the members that are always there."""
    stated = codec.plain(found)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **stated}


def refused(found: Status, form: Form = PLAIN) -> Reply:
    """The reply to a request that is not carried out."""
    headers: dict[str, str] = {}
    if found.details is not None and found.details.retry_after_seconds:
        headers["Retry-After"] = str(found.details.retry_after_seconds)
    body = documents.encode(status(found))
    return written(found.code, body, form, headers)


def written(code: int, body: bytes, form: Form, headers: Mapping[str, str] | None = None) -> Reply:
    """JSON bytes as a reply in a form."""
    if form.media == YAML:
        body = _yaml(msgspec.json.decode(body))
    elif form.pretty:
        body = msgspec.json.format(body, indent=2)
    elif not body.endswith(b"\n"):
        body += b"\n"
    return Reply(
        code,
        body,
        {"Content-Type": form.media, "Cache-Control": "no-cache, private", **(headers or {})},
    )


def _yaml(value: Any) -> bytes:
    return yaml.dump(
        value, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=False
    ).encode()


def answered(call: Call, answer: Answer) -> Reply:
    """One object as a reply, with the warnings of the call."""
    body = answer.value or documents.encode(answer.object)
    return warned(call, written(answer.code, body, call.form))


def warned(call: Call, reply: Reply) -> Reply:
    """Tells the warnings of a call along with its reply."""
    return warning(call.warnings, reply)


def warning(warnings: Sequence[str], reply: Reply) -> Reply:
    """Tells warnings along with a reply."""
    if not warnings:
        return reply
    stated = ", ".join(map(_warning, _reportable(warnings)))
    return msgspec.structs.replace(reply, headers={**reply.headers, "Warning": stated})


def _reportable(warnings: Sequence[str]) -> list[str]:
    """Each warning once, cut where they would fill the headers."""
    found, room = [], _LONGEST_WARNINGS
    for text in dict.fromkeys(warnings):
        room -= min(len(text), _LONGEST_WARNING)
        if room < 0:
            break
        found.append(text[:_LONGEST_WARNING])
    return found


def _warning(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    plain = plain.encode("latin-1", "replace").decode("latin-1")
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


def compressed(headers: Mapping[str, str], reply: Reply) -> Reply:
    """Compresses a large reply for a client that takes it."""
    if len(reply.body) < COMPRESSED_FROM or "gzip" not in headers.get("Accept-Encoding", ""):
        return reply
    body = gzip.compress(reply.body, 1, mtime=0)
    return Reply(
        reply.status, body, {**reply.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    )
