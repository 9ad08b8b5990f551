"""Pure functions: events and values to HTML. Everything shown goes through `base.esc`."""
