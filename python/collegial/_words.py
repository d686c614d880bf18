"""From Python arguments to the words of a command line, which both sides understand."""

import json
import os


def model_word(model):
    """A model as one word: a name, a path, or the text of a spec."""
    if isinstance(model, dict):
        return json.dumps(model)
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    word = getattr(model, "_word", None)
    if word is None:
        raise TypeError(f"a model is a name, a path, a dict or a Spec, not {type(model).__name__}")
    return word


def command(verb, model, **options):
    """The words of a verb; options that are None or False are left out."""
    words = [verb]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (str, os.PathLike)) or not hasattr(value, "__iter__"):
            words.append(f"{flag}={value}")
        else:
            words.append(f"{flag}={','.join(str(item) for item in value)}")
    return words if model is None else [*words, "--", model_word(model)]
