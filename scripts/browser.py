"""A headless Chromium for tests, spoken to over a pipe by its DevTools protocol. Standard library only."""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

#: How long one answer, or the loading of one page, may take on a busy machine.
PATIENCE = 60.0


class Browser:
    """One process. Its tabs share nothing else."""

    def __init__(self) -> None:
        self._home = tempfile.mkdtemp(prefix="browser-")
        self._sent = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        command += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={self._home}", "--remote-debugging-pipe", "about:blank"]

        # The browser reads 3 and writes 4. These numbers may be in use here, so both ends move out of the way first.
        def wire() -> None:
            ends = [os.dup(to_browser), os.dup(from_browser)]
            while min(ends) < 5:
                ends = [os.dup(end) for end in ends]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            command, preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._read, selectors.EVENT_READ)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the process, which ends its children."""
        try:
            self.call("Browser.close")
            self._process.wait(timeout=10)
        except (AssertionError, OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._selector.close()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._home, ignore_errors=True)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """A request, and its result. Events that come before it are kept."""
        self._sent += 1
        request: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self._write, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            message = self._next(until)
            if message.get("id") == self._sent:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def wait(self, method: str, session: str) -> None:
        """Returns when there is such an event, or was one."""
        until = time.monotonic() + PATIENCE
        while not any(event.get("method") == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self._next(until))

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not self._selector.select(max(0.0, until - time.monotonic())):
                raise TimeoutError(f"the browser said nothing for {PATIENCE} s")
            read = os.read(self._read, 1 << 20)
            assert read, "the browser has ended"
            self._rest += read
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def page(self, width: int, height: int = 900, dark: bool = False) -> Page:
        """A tab of that width, in CSS pixels."""
        return Page(self, width, height, dark)


class Page:
    """One tab."""

    def __init__(self, browser: Browser, width: int, height: int, dark: bool) -> None:
        self.browser = browser
        self.width = width
        # What a page stores, such as a choice of colours, is not there for the next tab.
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self.session = str(browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def open(self, url: str) -> list[dict[str, Any]]:
        """Loads a page; the events of the tab until then."""
        self.browser.events.clear()
        self.call("Page.navigate", url=url)
        self.browser.wait("Page.loadEventFired", self.session)
        self.evaluate("0")  # What its scripts said while it loaded is here before the answer.
        return [event for event in self.browser.events if event.get("sessionId") == self.session]

    def evaluate(self, script: str) -> Any:
        """What an expression is; one that is a promise is awaited."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """What is seen, or the whole page, as a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(image["data"]))


def complaints(events: list[dict[str, Any]], server: str) -> list[str]:
    """What the console said that is wrong, and requests that failed or left `server`."""
    found = []
    for event in events:
        says = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                found.append(f"exception: {says['exceptionDetails'].get('text')}")
            case "Runtime.consoleAPICalled" if says["type"] in ("error", "warning", "assert"):
                found.append(f"console: {[argument.get('value') for argument in says['args']]}")
            case "Log.entryAdded" if says["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {says['entry']['text']} {says['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                url = says["request"]["url"]
                if not url.startswith((server, "data:", "blob:")):
                    found.append(f"request to {url}")
            case "Network.responseReceived" if says["response"]["status"] >= 400:
                found.append(f"{says['response']['status']} of {says['response']['url']}")
    return found
