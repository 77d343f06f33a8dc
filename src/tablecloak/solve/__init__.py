"""Linear and mixed-integer programs, solved and checked. Knows no statistics."""
