"""Rate limits in web frameworks (`asgi`, `starlette`, `fastapi`, `flask` and `django`), Celery tasks that run once at a time
(`celery`), statistics for monitoring (`prometheus`, `opentelemetry`) and fixtures (`pytest`), each a module by itself.

None of them is imported by `libdlock`, which depends on nothing. docs/python/frameworks.md and operations-and-tests.md show
how each is used.
"""
