"""Style and script of the pages."""
