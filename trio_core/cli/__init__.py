"""Commands of `python -m trio_core`."""
