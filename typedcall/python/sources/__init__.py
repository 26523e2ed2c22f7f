"""Functions of other libraries as a source of typed functions: one module for each library. None of
them imports its library: what is not imported has made no object that could be asked about."""
