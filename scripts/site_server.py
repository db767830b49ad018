"""The documentation site as build/site has it, served on the loopback for tests. Standard library only."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path
from types import TracebackType

SITE = Path(__file__).resolve().parent.parent / "build/site"
#: What a page is given in place of the search index, which takes it longer to read than all else.
NO_INDEX = json.dumps({"config": {"lang": ["en"], "separator": "[\\s\\-]+", "fields": {}}, "docs": []}).encode()


class SiteServer:
    """Serves the site; `searchable` says whether pages find something."""

    def __init__(self) -> None:
        self.searchable = False
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments: object) -> None:
                super().__init__(*arguments, directory=str(SITE))  # type: ignore[arg-type]

            def do_GET(self) -> None:
                if self.path == "/search/search_index.json" and not server.searchable:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(NO_INDEX)))
                    self.end_headers()
                    self.wfile.write(NO_INDEX)
                else:
                    super().do_GET()

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> SiteServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Serves no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
