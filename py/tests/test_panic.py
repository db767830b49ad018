"""faults.md 32: a panic in any native function is an `InternalError`, and the process goes on.

Needs a wheel with the feature `fault-injection`, in which the bridge panics where DLOCK_PANIC says: `run-tests.sh long`
installs one and says so by DLOCK_FAULT_INJECTION.
"""

from __future__ import annotations

import os
import re

import pytest

import libdlock
from conftest import ROOT, Python

pytestmark = pytest.mark.skipif(
    "DLOCK_FAULT_INJECTION" not in os.environ, reason="needs the fault-injection wheel"
)

# How the sources name what they export.
GUARDED = re.compile(r'\b(?:blocking|quick|release|submit|taken|guard)\((?:[\w().]+,\s*)?"([^"]+)"')

EXPORTS = sorted(
    export
    for source in (ROOT / "py" / "src").glob("*.rs")
    if source.name != "call.rs"
    for export in GUARDED.findall(source.read_text())
)

PROGRAM = """
import os, sys, libdlock
export = sys.argv[1]

def use():
    with libdlock.connect("memory://x") as client:
        with client.lock("k") as held:
            assert held.valid and held.remaining and not held.lost.is_set() and not held.lost.wait(0.001)
            lock = client.lock("k")
            assert lock.hold_count == 1 and lock.held and lock.inspect().holder
            lock.extend(20)
            lock.attach(lock.detach())
            lock.acquire()
            lock.release()
        assert lock.force_release() is False

use()
from libdlock import _log, _native
os.environ["DLOCK_PANIC"] = export
if export.startswith("port_"):
    call = {"port_open": _native.port_open, "port_descriptor": lambda: _native.port_descriptor(_log.port()),
            "port_drain": lambda: _native.port_drain(_log.port(), 1)}[export]
else:
    call = use
try:
    call()
except libdlock.InternalError as error:
    assert export in str(error), error
    del os.environ["DLOCK_PANIC"]
else:
    raise SystemExit(f"{export} did not panic")
with libdlock.connect("memory://y") as client, client.lock("k"):
    print("lives")
os._exit(0)  # what the panic left open is not the subject
"""


def test_the_list_is_complete() -> None:
    native = {name for name in dir(libdlock._native) if name[0].islower()}
    assert native - {"thread_holder", "client_free"} <= {*EXPORTS}


@pytest.mark.parametrize("export", EXPORTS)
def test_a_panic_in_an_export_is_an_internal_error(python: Python, export: str) -> None:
    process = python(PROGRAM, export)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "lives\n"), err
