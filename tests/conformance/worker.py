"""The process in which conformance.py runs a reader on records.

    worker.py FOLDER READER < ids prints a line of JSON for each record: (id, place, result, whether it is right).
    The last line says "done".
"""
import array
import importlib
import json
import os
import sys

import records


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Float:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


def argument(given):
    """Converts an argument from JSON. A dict is a value that JSON cannot express."""
    if not isinstance(given, dict):
        return given
    if "array" in given:
        return array.array(given["array"], given["values"])
    return Index(given["index"]) if "index" in given else Float(given["float"])


def make(module, record, index, place):
    """Returns a callable with a table of the record in this place."""
    name = f"{record['id']}#{index}"
    if record["layer"] == "order":
        (first, _), *others = record["tables"]
        callable_ = module.make(name, first)
        for at, (other, _) in enumerate(others, 1):
            module.offer(callable_, f"{record['id']}#{at}", other)
        return callable_
    if record["layer"] != "instance":
        return module.make(name, place)
    steps, plain = record.get("steps", []), lambda self, x: "Python's"
    is_elsewhere = "other-offset" in steps
    cls = module.slot_class({"__call__": lambda self, x: x + 1000} if "in-python" in steps else {}, is_elsewhere)
    for step in steps:
        if step in ("subclass", "override", "named"):
            cls = type(cls)("method_descriptor" if step == "named" else "Below", (cls,), {"__call__": plain} if step == "override" else {})
    made = module.make_instance(None if "null" in steps else name, cls, is_elsewhere)
    if "replace" in steps:
        module.replace_table(made, f"{record['id']}#1")
    if "assign" in steps:
        cls.__call__ = plain
    if "assign-base" in steps:
        cls.__bases__ = (type(cls)("Other", (cls.__bases__[0],), {"__call__": plain}),)
    return made


def ask(reader, callable_, signature, can, equivalent):
    """Returns (signature, flags, address) of the entry that the reader finds, or None."""
    return reader.find(callable_, signature, can, equivalent)


def ask_for_no_signature(*question):
    """Like ask(), but returns None if the reader raises ValueError."""
    try:
        return ask(*question)
    except ValueError:
        return None


def is_same(found, row):
    """Returns True if a result equals a row. None in the result matches any value."""
    return found is not None and all(a is None or a == b for a, b in zip(found, row))


def look_for_entries(reader, module, record, place):
    signature, can, equivalent = records.asked(record)
    if "tables" in record:
        found = ask(reader, make(module, record, 0, place), signature, can, equivalent)
        right = is_same(found, module.ENTRIES[f"{record['id']}#{record['finds']}"][0])
        return repr(found), right
    seen, right = [], True
    for index, (_, expected) in enumerate(records.variants(record)):
        callable_ = make(module, record, index, place)
        rows = module.ENTRIES[f"{record['id']}#{index}"]
        for wanted in records.wanted(record):
            is_none = records.is_of_a_text(record) and wanted == signature
            found = (ask_for_no_signature if is_none else ask)(reader, callable_, wanted, can, equivalent)
            seen.append(repr(found))
            # The next entry is found for its own signature.
            is_next = expected is not None and (wanted == rows[expected][0] or not records.is_of_a_text(record))
            right &= is_same(found, rows[expected]) if is_next else found is None
    return "; ".join(seen), right


def call(function, record, callable_):
    arguments = tuple(map(argument, record["arguments"]))
    try:
        got = function(callable_, arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        return repr(error), type(error).__name__ == record.get("raises")
    expected = record.get("gives")
    is_right = "raises" not in record and type(got) is type(expected) and repr(got) == repr(expected)
    return repr(got), is_right


def choose(reader, record, callable_, is_own):
    """Like call(), but the reader chooses an entry. If none fits, the right answer is that of the
    Python callable or, with `is_own`, the exception of the record."""
    arguments = tuple(map(argument, record["arguments"]))
    expected, failure = record["gives"], None
    if expected == "boxed":
        try:
            expected = None if is_own else callable_(*arguments)
        except Exception as error:
            failure = type(error).__name__
    try:
        got = reader.choose(callable_, arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        is_right = record["gives"] == "boxed" and (
            type(error).__name__ == record.get("raises") or failure is not None and failure in repr(error))
        return repr(error), is_right
    return repr(got), failure is None and expected is not None and got == expected


def class_of(given, made, metaclass):
    name, bases = given["name"], tuple(made[base] for base in given["bases"])
    if given.get("plain"):
        return type(name, bases, {})
    namespace = {}
    if "slots" in given:
        namespace["__customslots__"] = [(records.number(id_), value) for id_, value in given["slots"]]
    if given.get("faulty"):
        namespace["__customslots__"] = 5
    kind = given.get("metaclass")
    if kind == "past":
        return type.__new__(metaclass, name, bases or (object,), namespace)
    if kind:
        body = {"__init__": lambda self, *arguments: None} if kind == "forgets" else {}
        metaclass = type("Derived", (metaclass,), body)
    return metaclass(name, bases or (object,), namespace)


def object_of(record, module, metaclass):
    import abc
    import ctypes
    import enum

    if "lookalike" in record:
        return module.lookalike(record["lookalike"])
    if "object" in record:
        plain = {"object": object, "int": lambda: 3, "type": lambda: type, "class": type("Plain", (), {}),
                 "abc": abc.ABCMeta("Abstract", (), {}), "enum": lambda: enum.Enum("Color", "red").red,
                 "structure": type("Struct", (ctypes.Structure,), {}), "metaclass": lambda: metaclass}
        return plain[record["object"]]()
    made = {}
    for given in record["classes"]:
        made[given["name"]] = class_of(given, made, metaclass)
    classes = list(made.values())
    instance, steps = classes[-1](), record.get("steps", [])
    if "assign-class" in steps:
        instance = classes[0]()
        instance.__class__ = classes[-1]
    if "assign-bases" in steps:
        classes[-1].__bases__ = (classes[-2],)
    if "init-again" in steps:
        type(classes[-1]).__init__(classes[-1], "Z", (object,), {"__customslots__": []})
    return instance


def look_for_slot(reader, record, module):
    import _extensibletype

    found = reader.slot(object_of(record, module, _extensibletype.extensibletype_v2), records.number(record["ask"]))
    return repr(found), record["verdict"] == "free" or found == record.get("finds")


def answer(reader, module, record, place):
    """Returns (result, whether it is right). Raises NotImplementedError if the reader does not support the record."""
    if record["layer"] == "type":
        return look_for_slot(reader, record, module)
    if record["layer"] == "call":
        signature, can, _ = records.asked(record)
        return call(lambda f, arguments: reader.call(f, signature, can, arguments), record,
                    make(module, record, 0, place))
    if record["layer"] == "values":
        made = getattr(reader, "callable_for", None)
        return choose(reader, record, made(record["id"]) if made else make(module, record, 0, place), bool(made))
    return look_for_entries(reader, module, record, place)


#: The function that each layer needs. The default is `find`.
NEEDS = {"type": "slot", "call": "call", "values": "choose"}


def is_for(record, reader):
    name = NEEDS.get(record["layer"], "find")
    if not hasattr(reader, name):
        return False
    places = set(records.places(record))
    if record["layer"] == "interface":
        return "def" in reader.PLACES and not getattr(reader, "IS_BOUND_EARLY", False)
    if record["layer"] in ("request", "order") and getattr(reader, "IS_TYPE_SINK", False):
        return False
    return name == "choose" or places <= reader.PLACES or record["layer"] != "order" and bool(places & reader.PLACES)


def main():
    folder, name = sys.argv[1:]
    # The output of the reader must not be mixed with ours.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)

    def say(*row):
        answers.write(json.dumps(row) + "\n")
        answers.flush()

    sys.path[:0] = [folder]
    known = {record["id"]: record for record in records.corpus()}
    wanted = [known[line.strip()] for line in sys.stdin if line.strip()]
    if sys.implementation.name == "cpython":
        import typedcall  # noqa: F401  installs the interface
    module = importlib.import_module("conformance_records")
    for record in wanted:
        if record["layer"] == "interface":
            forged = record["interface"]
            where = 2 if forged.get("module_too") else int(forged["module"])
            module.forge_interface(forged["name"], forged["major"], forged["minor"], forged["size"], where)
    try:
        reader = importlib.import_module(name)
    except ImportError as error:
        if not any(record["layer"] == "interface" for record in wanted):
            raise
        # The import may fail for records about interfaces.
        for record in wanted:
            say(record["id"], "def", repr(error), record["verdict"] == "reject")
        say("done", None, None, None)
        return
    for record in wanted:
        if not is_for(record, reader):
            say(record["id"], None, "not for this reader", None)
            continue
        places = [None] if record["layer"] in ("type", "order") else [
            place for place in records.places(record) if place in reader.PLACES or record["layer"] == "values"]
        for place in places:
            say(record["id"], place, "asked", None)
            try:
                seen, right = answer(reader, module, record, place or records.places(record)[0])
            except NotImplementedError as error:
                seen, right = f"cannot be asked: {error}", None
            except Exception as error:
                seen, right = repr(error), False
            say(record["id"], place, seen, None if right is None else right or record["verdict"] == "free")
    say("done", None, None, None)


if __name__ == "__main__":
    main()
