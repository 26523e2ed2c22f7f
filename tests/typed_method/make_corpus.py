"""Writes the seeds for fuzz/typed_method_fuzz.cc to the folder corpus/ next to this file."""
import pathlib
import struct

TYPED, BOTH, VARARGS, METH_O, FASTCALL, KEYWORDS = 0x1000, 0x3000, 1, 8, 0x80, 2
NO_ARGUMENTS, NO_TABLE, NO_NAME, NO_END, NO_FUNCTION = 1, 2, 4, 8, 16
MAGIC = 0x5059545950454431


def pypy(ret=1):
    return struct.pack("<QiiQ", 0, ret, 0, 0x1234)


def header(size=56, major=1, minor=0, magic=MAGIC, front=b""):
    return front + struct.pack("<QQIHHQ", 0, 0, size, major, minor, magic)


SEEDS = {
    "empty": None,
    "no_bits": (METH_O, 0, [1], b""),
    "pypy_l_l": (TYPED | METH_O, 0, [1], pypy()),
    "pypy_dd_d": (TYPED | FASTCALL, 0, [2, 2], pypy(2)),
    "pypy_double_may_raise": (TYPED | FASTCALL, 0, [3, 2, 1], pypy(-2)),
    "pypy_object_may_raise": (TYPED | FASTCALL, 0, [3], pypy(-3)),
    "pypy_nothing_to_l": (TYPED | FASTCALL, 0, [], pypy()),
    "pypy_o_with_two": (TYPED | METH_O, 0, [1, 1], pypy()),
    "pypy_keywords": (TYPED | FASTCALL | KEYWORDS, 0, [1], pypy()),
    "pypy_not_for_pypy": (TYPED | METH_O, 0, [127], pypy(0x100)),
    "pypy_int_min": (TYPED | METH_O, 0, [1], pypy(-2**31)),
    "pypy_no_function": (TYPED | METH_O, NO_FUNCTION, [1], pypy()),
    "pypy_no_arguments": (TYPED | METH_O, NO_ARGUMENTS, [1], pypy()),
    "pypy_127": (TYPED | FASTCALL, 0, [2] * 127, pypy()),
    "pypy_128": (TYPED | FASTCALL, 0, [2] * 128, pypy()),
    "pypy_no_end": (TYPED | FASTCALL, NO_END, [1, 2], pypy()),
    "one_argument": (TYPED | METH_O, 0, [], struct.pack("<QiiQ", 0, 2, -2, 0x1234)),
    "one_argument_missing": (TYPED | METH_O, 0, [], struct.pack("<QiiQ", 0, -1, 2, 0x1234)),
    "one_argument_object": (TYPED | METH_O, 0, [], struct.pack("<iiQ", 3, 1, 0x1234)),
    "one_argument_unknown": (TYPED | METH_O, 0, [], struct.pack("<iiQ", 4, -2**31, 0x1234)),
    "one_argument_fastcall": (TYPED | FASTCALL, 0, [1], struct.pack("<iiQ", 1, 1, 0x1234)),
    "pypy_padding": (TYPED | FASTCALL, 0, [1], struct.pack("<QiiQ", 0, 1, 77, 0x1234)),
    "misaligned": (TYPED | METH_O, 0, [1], b"x" + pypy()),
    "no_name": (BOTH | METH_O, NO_NAME, [1], header() + pypy()),
    "header": (BOTH | METH_O, 0, [1], header() + pypy()),
    "header_varargs": (BOTH | VARARGS, 0, [127], header() + pypy(0x100)),
    "header_no_table": (BOTH | FASTCALL, NO_TABLE, [1], header() + pypy()),
    "header_wrong_magic": (BOTH | METH_O, 0, [1], header(magic=MAGIC + 1) + pypy()),
    "header_ends_with_wrong_magic": (BOTH | METH_O, 0, [1], b"somebody" + pypy()),
    "header_major_2": (BOTH | METH_O, 0, [1], header(major=2) + pypy()),
    "header_newer_minor": (BOTH | METH_O, 0, [1], header(72, minor=3, front=b"f" * 16) + pypy()),
    "header_too_small": (BOTH | METH_O, 0, [1], header(40) + pypy()),
    "header_huge": (BOTH | METH_O, 0, [1], header(2**32 - 1) + pypy()),
}

if __name__ == "__main__":
    corpus = pathlib.Path(__file__).with_name("corpus")
    corpus.mkdir(exist_ok=True)
    for name, seed in SEEDS.items():
        data = b""
        if seed is not None:
            flags, choices, codes, front = seed
            data = struct.pack("<iBB", flags, choices, len(codes)) + bytes(codes) + front
        (corpus / name).write_bytes(data)
