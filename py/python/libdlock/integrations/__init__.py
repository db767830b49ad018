"""Rate limits in web frameworks: `asgi`, `starlette`, `fastapi`, `flask` and `django`, each a module by itself.

None of them is imported by `libdlock`, which depends on nothing. docs/python/frameworks.md shows how each is used.
"""
