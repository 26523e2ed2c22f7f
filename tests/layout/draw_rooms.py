"""Draws docs/explanation/rooms.svg. Run this when the rooms test says that the picture is
outdated."""
import collections
import html
import pathlib
import re

import test_layout
import test_rooms

PICTURE = pathlib.Path(test_layout.ROOT) / "docs" / "explanation" / "rooms.svg"
WIDTH, ROW, BOX = 760, 46, 30
STYLE = """\
    text { fill: #1f2328 } rect { fill: #ffffff; stroke: #5b7aa8 } path { fill: none; stroke: #8b949e }
    .room { font-weight: bold; text-anchor: middle } .title { font-weight: bold; font-size: 15px }
    .ground { fill: #f3f6fb; stroke: none } .note { paint-order: stroke; stroke: #f3f6fb; stroke-width: 5px }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } rect { fill: #0d1117; stroke: #6cb6ff } path { stroke: #6e7681 }
      .ground { fill: #172131 } .note { stroke: #172131 }
    }"""
# The captions of some rooms.
CAPTIONS = {
    "core base": "slots, their IDs, platforms; Python.h alone",
    "core": "what you include: custom slots, the metaclass, the rendezvous",
    "typedcall": "what you include: provider.h, resolve.h, invoker.h, callback.h, loop.h ...",
}


def headers():
    """Returns {room: the rooms that it includes} for core and typedcall."""
    found = collections.defaultdict(set)
    for path, text in test_layout.sources("core", "typedcall"):
        room = test_layout.room_of(path)
        if room == "typedcall/python":
            continue
        for target in test_layout.INCLUDE.findall(text):
            other = test_layout.room_of(target)
            found[room].add(other)
            found[other].update()
    # The top and loop/ include each other, as do the top and binding/.
    return {room: others - {room} - ({"typedcall"} if room.count("/") else set()) for room, others in found.items()}


def package():
    """Returns {room: the rooms that it uses} for the Python package."""
    found = collections.defaultdict(set)
    for module, other in test_rooms.arrows():
        room, used = test_rooms.room_of(module), test_rooms.room_of(other)
        found[room].add(used)
        found[used].update()
    return {room: others - {room} for room, others in found.items()}


def reached(graph, room):
    """Returns all rooms that this room uses, directly or indirectly."""
    return set().union(graph[room], *(reached(graph, other) for other in graph[room])) if graph[room] else set()


def rows(graph):
    """Returns the rows of rooms. Each room is one row above the highest room that it uses."""
    heights = {}

    def height(room):
        if room not in heights:
            heights[room] = 1 + max(map(height, graph[room]), default=-1)
        return heights[room]

    by_height = collections.defaultdict(list)
    for room in sorted(graph):
        by_height[height(room)].append(room)
    return [by_height[each] for each in sorted(by_height, reverse=True)]


def panel(title, graph, captions, top):
    """Returns (elements, their height)."""
    listed = rows(graph)
    height = 40 + ROW * len(listed)
    made = [f'<rect class="ground" x="10" y="{top}" width="{WIDTH - 20}" height="{height}" rx="8"/>',
            f'<text class="title" x="24" y="{top + 24}">{title}</text>']
    places = {}
    for at, row in enumerate(listed):
        width = min(150, (WIDTH - 60) // max(len(row), 1) - 10)
        left = 30 if len(row) == 1 else (WIDTH - len(row) * (width + 10)) // 2
        for i, room in enumerate(row):
            places[room] = left + i * (width + 10), top + 36 + ROW * at, width
    boxes = []
    for room, (x, y, width) in places.items():
        direct = graph[room] - set().union(*(reached(graph, other) for other in graph[room]))
        for other in sorted(direct):
            to_x, to_y, to_width = places[other]
            made.append(f'<path d="M{x + width // 2} {y + BOX} L{to_x + to_width // 2} {to_y - 2}" marker-end="url(#a)"/>')
        boxes.append(f'<rect x="{x}" y="{y}" width="{width}" height="{BOX}" rx="5"/>')
        boxes.append(f'<text class="room" x="{x + width // 2}" y="{y + 20}">{room}</text>')
        if room in captions and [room] in listed:
            boxes.append(f'<text class="note" x="{x + width + 16}" y="{y + 20}">{html.escape(captions[room])}</text>')
    return made + boxes, height


def picture():
    """Returns the SVG."""
    # A caption is the first phrase of the folder's docstring.
    captions = {path.parent.name: re.split(r"[.:;]\s", test_rooms.docstring(path) + " ")[0].replace("\n", " ")
                for path in test_rooms.PACKAGE.glob("*/__init__.py")}
    captions["package"] = "the public names, and the names in pickles"
    above, first = panel("typedcall/python: the Python package", package(), captions, 10)
    below, second = panel("core/ and typedcall/: the headers", headers(), CAPTIONS, first + 24)
    height = first + second + 34
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="12">',
        "  <title>The rooms of the repository and what they may use</title>",
        "  <style>\n" + STYLE + "\n  </style>",
        '  <defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 1 9 5 0 9"/></marker></defs>',
        *("  " + each for each in above + below), "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
