"""Represents entries and signatures as Python objects. Converts C declarations and buffers to signatures."""
