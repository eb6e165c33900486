"""Names and label values that stay legal however long what they are made from is.

Every rule that makes an object or a label calls it; it calls nothing. What is too long is cut and gets a hash of the whole, so that
two long names with the same beginning stay two, and the same name always becomes the same.
"""

import hashlib

LONGEST_NAME = 253
LONGEST_LABEL = 63
_HASH = 8


def legal_name(text: str, limit: int = LONGEST_NAME) -> str:
    """The text itself if it is short enough, else its beginning and a hash of all of it."""
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH]
    return f"{text[: limit - _HASH - 1].rstrip('-._')}-{digest}"


def legal_label(text: str) -> str:
    """A name as the value of a label."""
    return legal_name(text, LONGEST_LABEL)
