"""Uses a typed extension module from Python, first by itself and then through the package
`typedcall`."""

import geodesy

# geodesy needs no other package.
lisbon, kyiv, quito = (38.72, -9.14), (50.45, 30.52), (-0.22, -78.51)
for name, city in (("Kyiv", kyiv), ("Quito", quito)):
    kilometres, course = geodesy.distance(*lisbon, *city) / 1000, geodesy.bearing(*lisbon, *city)
    zone = geodesy.utm_zone(city[1])
    print("Lisbon to %s: %.0f km, course %.0f, UTM zone %d" % (name, kilometres, course, zone))
assert geodesy.distance(*lisbon, *kyiv) == geodesy.distance(*kyiv, *lisbon)
assert geodesy.distance(0, 0, lat2=0, lon2=180, radius=1.0) == 3.141592653589793
try:
    geodesy.utm_zone(200.0)
except ValueError as error:
    print("ValueError:", error)

# The package typedcall finds the C++ functions.
import typedcall

print("distance offers", typedcall.signatures(geodesy.distance))
distance = typedcall.resolve(geodesy.distance, "ddddd->d")  # with the radius
assert distance.address and typedcall.Flags.THREAD_SAFE in distance.flags
assert distance(*lisbon, *kyiv, 6371008.8) == geodesy.distance(*lisbon, *kyiv)
assert distance(*lisbon, *kyiv, radius=1.0) == geodesy.distance(*lisbon, *kyiv, radius=1.0)
on_earth = typedcall.resolve(geodesy.distance, "dddd->d")  # a C function that passes the default
assert on_earth(*lisbon, *kyiv) == geodesy.distance(*lisbon, *kyiv)
(zone,) = typedcall.entries(geodesy.utm_zone)
print("utm_zone may raise:", typedcall.Flags.MAY_RAISE in zone.flags)
try:
    typedcall.resolve(geodesy.bearing, "d->d")
except TypeError as error:
    print("TypeError:", error)
