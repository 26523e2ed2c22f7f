"""Entries and signatures as Python objects; C declarations and buffers as signatures."""
