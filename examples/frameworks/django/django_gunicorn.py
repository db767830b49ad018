"""How gunicorn serves the application: two processes, which share the limits, of eight threads each."""

import os
from typing import Any

port = os.environ.get("PORT", "8000")
bind = f"127.0.0.1:{port}"
workers = 2
worker_class = "gthread"
threads = 8
preload_app = True
graceful_timeout = 2
control_socket_disable = True
loglevel = "warning"
# More than the 8 kB that gunicorn allows a field: the answer to a key that is too long is the application's.
limit_request_field_size = 16_384


def when_ready(server: Any) -> None:
    print(f"listening on {port}", flush=True)
