"""The process in which conformance.py runs a reader on records.

    worker.py FOLDER READER < ids prints a line of JSON for each record: (id, place, result, whether it is right).
    The last line says "done".
"""
import importlib
import json
import os
import sys
import threading

import records
from record_values import Holder, are_released, arguments_of, is_right, references, self_of


def make(module, record, index, place):
    """Returns a callable with a table of the record in this place."""
    name = f"{record['id']}#{index}"
    if record["layer"] == "order":
        (first, _), *others = record["tables"]
        callable_ = module.make(name, first)
        for at, (other, _) in enumerate(others, 1):
            module.offer(callable_, f"{record['id']}#{at}", other)
        return callable_
    if record.get("subtype"):
        return module.make(name, "subtype")
    if place == "object" and "on" in record:
        made = {"method": lambda: Holder().method, "function": lambda: lambda *arguments: sum(arguments) + 1000,
                "builtin": lambda: module.make(name, "nothing"), "subtype": lambda: module.make(name, "subtype")}
        callable_ = made[record["on"]]()
        module.offer(callable_, name, "object")
        return callable_
    if record["layer"] != "instance":
        return module.make(name, place)
    steps, plain = record.get("steps", []), lambda self, x: "Python's"
    if "before" in steps:
        return module.make_behind(name)
    is_elsewhere = "other-offset" in steps
    body = {"__call__": lambda self, x: x + 1000} if "in-python" in steps else {}
    cls = module.foreign_class() if "foreign" in steps else module.slot_class(body, is_elsewhere, "no-call" not in steps)
    for step in steps:
        if step in ("subclass", "override", "named"):
            cls = type(cls)("method_descriptor" if step == "named" else "Below", (cls,), {"__call__": plain} if step == "override" else {})
        if step == "tp-call":
            module.change_call(cls)
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
        if record["verdict"] == "reject":
            return repr(found), found is None
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


def call(function, record, arguments):
    """Returns (result or exception, whether it is right). `raises` has the exceptions that are right."""
    allowed = record.get("raises", [])
    try:
        got = function(arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        return repr(error), type(error).__name__ in ([allowed] if isinstance(allowed, str) else allowed)
    return repr(got), is_right(record, got, arguments)


def in_threads(function, record, arguments):
    """Like call(), in several threads at once."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise NotImplementedError("no GIL keeps the threads apart")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(call(function, record, arguments)))
               for _ in range(record["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return repr([seen for seen, _ in answers]), all(right for _, right in answers)


def call_through(reader, module, record, place):
    """Like call(), for a reader. Also checks that the reader keeps no reference to an argument and no buffer."""
    signature, can, _ = records.asked(record)
    callable_, arguments = make(module, record, 0, place), arguments_of(record)

    def function(given):
        if "self" in record:
            return reader.call_unbound(callable_, signature, can, self_of(record, callable_), given)
        return reader.call(callable_, signature, can, given)

    before = references(arguments)
    seen, right = in_threads(function, record, arguments) if "threads" in record else call(function, record, arguments)
    if references(arguments) != before:
        return f"{seen}, and the references are {references(arguments)}, not {before}", False
    return (seen, right) if are_released(arguments) else (f"{seen}, and a buffer is still in use", False)


def choose(reader, record, callable_, is_own):
    """Like call(), but the reader chooses an entry. If none fits, the right answer is that of the
    Python callable or, with `is_own`, the exception of the record."""
    arguments = arguments_of(record)
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

    question = object_of(record, module, _extensibletype.extensibletype_v2), records.number(record["ask"])
    has_position = "position" in record and hasattr(reader, "slot_at")
    found = reader.slot_at(*question, record["position"]) if has_position else reader.slot(*question)
    return repr(found), record["verdict"] == "free" or found == record.get("finds")


def answer(reader, module, record, place):
    """Returns (result, whether it is right). Raises NotImplementedError if the reader does not support the record."""
    if record["layer"] == "type":
        return look_for_slot(reader, record, module)
    if record["layer"] == "call":
        return call_through(reader, module, record, place)
    if record["layer"] == "values":
        made = getattr(reader, "callable_for", None)
        return choose(reader, record, made(record["id"]) if made else make(module, record, 0, place), bool(made))
    seen, right = look_for_entries(reader, module, record, place)
    if record.get("interpreter") == "another":
        there, right_there = in_another_interpreter(reader, module, record)
        return f"{seen}; there: {there}", right_there and right
    return seen, right


def in_another_interpreter(reader, module, record):
    """Returns the answer of the reader's module in a new interpreter."""
    output, input_ = os.pipe()
    module.run_elsewhere(f"import sys\nsys.path[:] = {sys.path!r}\nimport worker\n"
                         f"worker.answer_here({reader.__name__!r}, {record['id']!r}, {input_})\n")
    os.close(input_)
    with os.fdopen(output, encoding="utf-8") as file:
        seen, right = json.loads(file.read() or '["nothing", false]')
    if right is None:
        raise NotImplementedError(seen)
    return seen, right


def answer_here(name, id_, descriptor):
    """Writes the answer of the reader to a file."""
    record = next(record for record in records.corpus() if record["id"] == id_)
    try:
        import typedcall  # noqa: F401  installs the interface

        seen, right = look_for_entries(importlib.import_module(name), importlib.import_module("conformance_records"),
                                       record, records.places(record)[0])
    except (ImportError, NotImplementedError) as error:
        seen, right = repr(error), None
    except Exception as error:
        seen, right = repr(error), False
    with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
        json.dump([seen, right], file)


#: The function that each layer needs. The default is `find`.
NEEDS = {"type": "slot", "call": "call", "values": "choose"}


def is_for(record, reader):
    name = "call_unbound" if "self" in record else NEEDS.get(record["layer"], "find")
    if not hasattr(reader, name):
        return False
    # The others are objects that offer nothing yet.
    places = set(records.places(record)) - {"nothing", "subtype"}
    if record["layer"] == "interface":
        return "def" in reader.PLACES and not (getattr(reader, "IS_BOUND_EARLY", False) and "interface" in record)
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
        if "interface" in record:
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
