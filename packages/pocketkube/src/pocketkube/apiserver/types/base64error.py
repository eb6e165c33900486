"""Where a text stops being base64, as Go counts: `values` tells it to whoever sent the text."""

_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_SKIPPED = frozenset(b"\r\n")
_PADDING = ord("=")


def place(text: bytes) -> int:
    """Finds the byte that Go complains about, in a text that is known to be wrong."""
    filled = 0
    for at, char in enumerate(text):
        if char in _SKIPPED:
            continue
        if char == _PADDING and filled >= 2:
            return _after_padding(text, at, filled)
        if char not in _ALPHABET:
            return at
        filled = (filled + 1) % 4
    return len(text) - filled


def _after_padding(text: bytes, at: int, filled: int) -> int:
    rest = [place for place in range(at + 1, len(text)) if text[place] not in _SKIPPED]
    if filled == 2:
        if not rest:
            return len(text)
        if text[rest[0]] != _PADDING:
            return rest[0] - 1
        rest = rest[1:]
    return rest[0] if rest else len(text)
