"""Follow, fold and feed Riverrun sessions.

The fold needs nothing but Python; `Riverrun` and `AsyncRiverrun` need `httpx` (`pip install riverrun[client]`).
"""
