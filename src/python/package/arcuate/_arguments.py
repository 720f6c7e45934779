"""Arguments that are not in the tables of parameters: checked here, before the engine gets them."""

import math
import operator
import os

import numpy

from ._errors import ParameterError

#: The largest whole numbers of the engine.
U32, U64 = 2**32 - 1, 2**64 - 1


def _shown(given):
    """The value in a sentence; a long one is cut."""
    if isinstance(given, str):
        shown = f"“{given}”"
    else:
        # The form of NumPy's numbers without their type.
        shown = str(given) if isinstance(given, numpy.generic) else repr(given)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"


def whole(name, given, least=0, most=U64, remedy="change it"):
    """A whole number within limits, also one of NumPy."""
    try:
        # Python counts True as 1.
        found = None if isinstance(given, (bool, numpy.bool_)) else operator.index(given)
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        raise ParameterError(
            f"Found {_shown(given)} for {name}, expected a whole number from {least} to {most}; {remedy}"
        )
    return found


def number(name, given):
    """A finite number."""
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if isinstance(given, (bool, str)) or not math.isfinite(value):
        raise ParameterError(f"Found {_shown(given)} for {name}, expected a finite number; change it")
    return value


def numbers(name, given, count=None, unit=""):
    """Numbers as a list, as many as stated."""
    try:
        found = [float(one) for one in given]
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or count not in (None, len(found)):
        expected = "numbers" if count is None else f"{count} numbers"
        raise ParameterError(f"Found {_shown(given)} for {name}, expected {expected}{unit}; correct them")
    return found


def limits(name, given):
    """Two limits; None leaves one open."""
    try:
        low, high = given
        low = -math.inf if low is None else float(low)
        high = math.inf if high is None else float(high)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"Found {_shown(given)} for {name}, expected (low, high); None leaves one open"
        ) from None
    if math.isnan(low) or math.isnan(high):
        raise ParameterError(
            f"Found a limit that is not a number, ({low}, {high}), for {name}, expected (low, high); None leaves one "
            "open"
        )
    if low > high:
        raise ParameterError(
            f"Found the limits ({low}, {high}) for {name}, expected the lower one first; swap them"
        )
    return low, high


def switch(name, given):
    """True or False."""
    if not isinstance(given, (bool, numpy.bool_)):
        raise ParameterError(f"Found {_shown(given)} for {name}, expected True or False; choose one of them")
    return bool(given)


def text(name, given):
    """A text."""
    if not isinstance(given, str):
        raise ParameterError(f"Found {_shown(given)} for {name}, expected a text; put it in quotation marks")
    return given


def path(name, given):
    """The name of a file, as a text or one of pathlib."""
    try:
        return os.fspath(given)
    except TypeError:
        raise ParameterError(
            f"Found {_shown(given)} for {name}, expected the name of a file; give a text or a pathlib.Path"
        ) from None


def common(backend, threads, progress):
    """The arguments that every function has."""
    if progress is not None and not callable(progress):
        raise ParameterError(
            f"Found {_shown(progress)} for progress, expected a function of the stage and the share of it that is done; "
            "leave it out for none"
        )
    if threads is not None:
        threads = whole("threads", threads, 1, 65535, "leave it out for one per core")
    return {"backend": text("backend", backend), "threads": threads, "progress": progress}


def if_given(check, name, given, *limits):
    """The checked value; None stays None."""
    return None if given is None else check(name, given, *limits)


def is_off(given):
    """Whether the value of a parameter switches it off."""
    return given is None or given is False or (isinstance(given, str) and given == "off")
