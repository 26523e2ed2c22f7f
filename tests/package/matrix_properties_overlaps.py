"""The property of the matrix (test_matrix.py) that concerns outputs that share memory with inputs."""
import support
from matrix_sinks import Refused
from narrow_support import functions
from overlap_support import FUNCTIONS

typed = support.build("typed_functions")
#: Functions of numbers, and the types of their arrays.
ELEMENTS = {
    "add": (typed.add, "df"), "half": (typed.half, "df"), "inc": (typed.inc, "lib"),
    "tenfold": (support.build("fallback_functions").tenfold, "df"),
    "larger_b": (functions.larger_b, "b"), "larger_L": (functions.larger_L, "L"),
}
#: An input and an output in the same memory, which has 4 rows.
LAYOUTS = {
    "in place": lambda memory: (memory[:3], memory[:3]),
    "one row": lambda memory: (memory[0], memory[0]),
    "each row from its end": lambda memory: (memory[:3], memory[:3, ::-1]),
    "the rows from the end": lambda memory: (memory[:3], memory[2::-1]),
    "the next rows": lambda memory: (memory[:3], memory[1:]),
    "the rows before": lambda memory: (memory[1:], memory[:3]),
    "an element further": lambda memory: tuple(memory.ravel()[at:at + 12].reshape(3, 4) for at in (0, 1)),
    "an element before": lambda memory: tuple(memory.ravel()[at:at + 12].reshape(3, 4) for at in (1, 0)),
    "columns": lambda memory: (memory[:, :4], memory[:, :4].T),
}


def shared(ufunc, shapes, letter, layout):
    """Yields a cell's name, and new inputs and outputs of which some share memory in this layout. `shapes` has the shape
    of each output for an input's."""
    import numpy

    for at in (*range(ufunc.nin), None) if ufunc.nin > 1 else range(1):
        for into in range(ufunc.nout):
            memory = (numpy.arange(20) * 7 % 19 - 4 * (letter not in "BHILQ")).astype(letter).reshape(4, 5)
            if shapes[into](memory.shape) == memory.shape:
                given, out = LAYOUTS[layout](memory)
            else:  # one number for each row
                given, out = memory[:3], memory[:3, 1]
            others = (numpy.arange(given.size) % 5).astype(letter).reshape(given.shape)
            inputs = [given if at in (each, None) else others for each in range(ufunc.nin)]
            outs = [out if each == into else numpy.zeros(shape(given.shape), letter) for each, shape in enumerate(shapes)]
            name = "all inputs" if at is None else f"input {at}"
            yield f"{name}, output {into}, {layout}", inputs, outs


def of_numbers(function):
    """Returns the function for arrays, computed one element at a time."""
    def model(*arrays):
        import numpy

        made = [function(*[each.item() for each in given]) for given in zip(*[array.ravel() for array in arrays])]
        return numpy.array(made).reshape(arrays[0].shape)

    return model


def cells(sink, name, function, core, model, letters):
    try:
        made = sink.writing(function, core)
    except Refused as error:
        yield f"{name}()", "refused", str(error)
        return
    outputs = (core or "->()").split("->")[1].split("),(")
    shapes = [(lambda shape: shape[:-1]) if core and "n" not in each else (lambda shape: shape) for each in outputs]
    for letter in letters:
        for layout in LAYOUTS:
            for cell, inputs, outs in shared(made, shapes, letter, layout):
                wanted = model(*[each.copy() for each in inputs])
                wanted = [each.astype(letter).tolist() for each in (wanted if made.nout > 1 else (wanted,))]
                made(*inputs, out=tuple(outs) if made.nout > 1 else outs[0])
                got = [each.tolist() for each in outs]
                yield f"{name}({letter}, {cell})", "right" if got == wanted else "wrong", f"{got}, not {wanted}"


def overlaps(sink):
    """`out=` may be an input, or share memory with one. The results are those of arrays that do not overlap."""
    for name, (function, letters) in ELEMENTS.items():
        yield from cells(sink, name, function, None, of_numbers(function), letters)
    for name, (function, core, model) in FUNCTIONS.items():
        yield from cells(sink, name, function, core, model, "l" if name == "ints" else "d")
