"""What `requests` and `schedule` read, as patterns for expressions that cannot call them.

Only `expressions` and `soundexpressions` use them. They are written for RE2, which API servers use: no possessive quantifiers, no looking ahead. Tests put the
same texts to the patterns and to the rules.
"""

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"


def _name(most: int) -> str:
    return f"[a-z0-9](?:[-a-z0-9.]{{0,{most - 2}}}[a-z0-9])?"


ORDER = f"(?:{_name(63)}/)?{_name(253)}"

_BLANK = r"[ \t\r\n]*"
_WORD = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
KEY = rf"(?:{_LABEL}(?:\.{_LABEL})*/)?{_WORD}"
VALUE = f"(?:{_WORD})?"
"""The key of a label, whose prefix has at most 253 characters, and its value."""
_VALUES = rf"{VALUE}(?:{_BLANK},{_BLANK}{VALUE})*"
_COMPARED = (
    rf"(?:{_BLANK}(?:==?|!=){_BLANK}{VALUE}"
    rf"|{_BLANK}[<>]{_BLANK}[+-]?[0-9]+"
    rf"|[ \t\r\n]+(?:in|notin){_BLANK}\({_BLANK}{_VALUES}{_BLANK}\))?"
)
_REQUIREMENT = rf"{_BLANK}(?:!{_BLANK}{KEY}|{KEY}{_COMPARED}){_BLANK}"
_SELECTOR = f"{_REQUIREMENT}(?:,{_REQUIREMENT})*"
TICKET = rf"(?:name:)?{_name(253)}|group:(?s:\S(?:.*\S)?)|selector:{_SELECTOR}"

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
DURATION = rf"[+-]?0|\+?(?:{_NUMBER}(?:ns|us|µs|μs|ms|s|m|h)){{1,6}}"

_MONTHS = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
_DAYS = "SUN|MON|TUE|WED|THU|FRI|SAT"


def _field(value: str, step: str, *more: str) -> str:
    """One cron field: a list of stars, values and ranges, each perhaps with a step, and of forms of its own."""
    item = rf"(?:\*|(?:{value})(?:-(?:{value}))?)(?:/0*(?:{step}))?"
    items = "|".join((item, *more))
    return f"(?:{items})(?:,(?:{items}))*"


_DAY_OF_WEEK = f"0*[0-7]|{_DAYS}"
_MINUTE = _field("0*[1-5]?[0-9]", "[1-9]|[1-5][0-9]|60")
_HOUR = _field("0*1?[0-9]|0*2[0-3]", "[1-9]|1[0-9]|2[0-4]")
_DAY = _field("0*[1-9]|0*[12][0-9]|0*3[01]", "[1-9]|[12][0-9]|3[01]", r"\?", "LW?")
_MONTH = _field(f"0*[1-9]|0*1[0-2]|{_MONTHS}", "[1-9]|1[0-2]")
_WEEKDAY = _field(_DAY_OF_WEEK, "[1-7]", r"\?", "[0-7]L", f"(?:[0-7]|{_DAYS})#[1-5]")
_GAP = r"[ \t]+"
_FIELDS = _GAP.join((_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY))
_MACRO = "@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)"
SCHEDULE = rf"(?i:[ \t]*(?:{_MACRO}|{_FIELDS})[ \t]*)"


def _only(item: str) -> str:
    return f"(?:{item})(?:,(?:{item}))*"


_TOO_LATE = rf"{_only('0*3[01]|0*30-0*3[01]|0*31-0*31')}{_GAP}{_only('0*2|FEB')}|{_only('0*31')}{_GAP}{_only('0*[2469]|0*11|FEB|APR|JUN|SEP|NOV')}"
NEVER = rf"(?i:[ \t]*{_MINUTE}{_GAP}{_HOUR}{_GAP}(?:{_TOO_LATE}){_GAP}[*?][^ ]*[ \t]*)"
"""Schedules for days that none of their months has."""
