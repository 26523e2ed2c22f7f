"""Asks one reader about records, in a process of its own: what the runner starts, and what dies when a reader crashes.

    worker.py FOLDER READER < ids    prints a line of JSON for each record: its id, what was seen, whether that is right
"""
import array
import importlib
import json
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
    """What JSON cannot say is a dict."""
    if not isinstance(given, dict):
        return given
    if "array" in given:
        return array.array(given["array"], given["values"])
    return Index(given["index"]) if "index" in given else Float(given["float"])


def make(module, record, index, place):
    """The callable of one table of the record, there."""
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
    cls = module.slot_class({"__call__": lambda self, x: x + 1000} if "in-python" in steps else {})
    for step in steps:
        if step in ("subclass", "override"):
            cls = type(cls)("Below", (cls,), {"__call__": plain} if step == "override" else {})
    made = module.make_instance(None if "null" in steps else name, cls)
    if "replace" in steps:
        module.replace_table(made, name)
    if "assign" in steps:
        cls.__call__ = plain
    if "assign-base" in steps:
        cls.__bases__ = (type(cls)("Other", (cls.__bases__[0],), {"__call__": plain}),)
    return made


def ask(reader, callable_, signature, can, equivalent):
    """(signature, flags, address), or None. A reader may refuse what is no signature by an exception."""
    try:
        return reader.find(callable_, signature, can, equivalent)
    except (ValueError, TypeError):
        return None


def is_same(found, row):
    """None in what a reader gives is what it cannot know."""
    return found is not None and all(a is None or a == b for a, b in zip(found, row))


def look_for_entries(reader, module, record, place):
    signature, can, equivalent = records.asked(record)
    if record["layer"] == "order":
        found = ask(reader, make(module, record, 0, place), signature, can, equivalent)
        right = is_same(found, module.ENTRIES[f"{record['id']}#{record['finds']}"][0])
        return repr(found), right
    seen, right = [], True
    for index, (_, expected) in enumerate(records.variants(record)):
        callable_ = make(module, record, index, place)
        rows = module.ENTRIES[f"{record['id']}#{index}"]
        for wanted in dict.fromkeys([signature, "d->d"] if records.is_of_a_text(record) else [signature]):
            found = ask(reader, callable_, wanted, can, equivalent)
            seen.append(repr(found))
            # Nobody finds by a text that is none.
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


def choose(reader, record, callable_):
    """As call(). Where no entry suits, the answer is Python's: what the callable gives or raises, or the exception of a
    wrapper that is the callable."""
    arguments = tuple(map(argument, record["arguments"]))
    expected = record["gives"]
    try:
        if expected == "boxed":
            expected = callable_(*arguments)
    except Exception:
        expected = None
    try:
        got = reader.choose(callable_, arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        return repr(error), expected is None or type(error).__name__ == record.get("raises")
    return repr(got), got == expected


def class_of(given, made, metaclass):
    name, bases = given["name"], tuple(made[base] for base in given["bases"])
    if given.get("plain"):
        return type(name, bases, {})
    namespace = {}
    if "slots" in given:
        namespace["__customslots__"] = [(records.number(id_), value) for id_, value in given["slots"]]
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
    """(what was seen, whether it is right); NotImplementedError where the reader cannot be asked that."""
    if record["layer"] == "type":
        return look_for_slot(reader, record, module)
    if record["layer"] == "call":
        signature, can, _ = records.asked(record)
        return call(lambda f, arguments: reader.call(f, signature, can, arguments), record,
                    make(module, record, 0, place))
    if record["layer"] == "values":
        made = getattr(reader, "callable_for", lambda id_: make(module, record, 0, place))
        return choose(reader, record, made(record["id"]))
    return look_for_entries(reader, module, record, place)


#: What a layer asks of a reader.
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
    sys.path[:0] = [folder]
    known = {record["id"]: record for record in records.corpus()}
    wanted = [known[line.strip()] for line in sys.stdin if line.strip()]
    if sys.implementation.name == "cpython":
        import typedcall  # noqa: F401  installs the interface
    module = importlib.import_module("conformance_records")
    for record in wanted:
        if record["layer"] == "interface":
            forged = record["interface"]
            module.forge_interface(forged["name"], forged["major"], forged["minor"], forged["size"], forged["module"])
    try:
        reader = importlib.import_module(name)
    except ImportError as error:
        if not any(record["layer"] == "interface" for record in wanted):
            raise
        # It refuses the whole module there, as it may.
        for record in wanted:
            print(json.dumps([record["id"], "def", repr(error), record["verdict"] == "reject"]), flush=True)
        return
    for record in wanted:
        if not is_for(record, reader):
            print(json.dumps([record["id"], None, "not for this reader", None]), flush=True)
            continue
        places = [None] if record["layer"] in ("type", "order") else [
            place for place in records.places(record) if place in reader.PLACES or record["layer"] == "values"]
        for place in places:
            print(json.dumps([record["id"], place, "asked", None]), flush=True)
            try:
                seen, right = answer(reader, module, record, place or records.places(record)[0])
            except NotImplementedError as error:
                seen, right = f"cannot be asked: {error}", None
            except Exception as error:
                seen, right = repr(error), False
            print(json.dumps([record["id"], place, seen, right or record["verdict"] == "free" if right is not None
                              else None]), flush=True)


if __name__ == "__main__":
    main()
