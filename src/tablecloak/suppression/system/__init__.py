"""The linear system behind a pattern: relations, rooms, and needs of sensitive cells."""
