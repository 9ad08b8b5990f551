"""Engines: everything that answers a `ChatCall`. One protocol (`base`), one HTTP client, and what starts servers."""
