"""Calls functions of the package noise through tags from another package."""

import noise
import typedcall

print("tags for", *typedcall.load_tags())
print(noise.snoise2, "offers", *typedcall.signatures(noise.snoise2))
typed = typedcall.resolve(noise.snoise2, "ff->f")
for x, y in ((0.1, 0.2), (1e3, -7.5), (0, 1)):
    assert typed(x, y) == noise.snoise2(x, y)
print("unboxed as boxed:", round(typed(0.1, 0.2), 6))
