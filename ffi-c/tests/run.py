"""Builds, installs into a folder of its own, compiles the programs there against and runs them; see run.sh.

Counts the programs' `ok` and `not ok` lines; a program that ends otherwise than by returning 0 is a failed test too. Those that
bound a time run by themselves, the others beside one another, each with a server that no other has meanwhile.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "c-tests"
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(HERE))

import crates  # noqa: E402
import lua  # noqa: E402
import packages  # noqa: E402
import vectors  # noqa: E402
from private_redis import PrivateRedis  # noqa: E402

PROGRAMS = (
    *("lock", "lock_static", "lock_all", "semaphore", "counting_semaphore", "rw_lock", "latch"),
    *("id_generator", "bloom_filter", "queue", "queue_bounds", "queue_port"),
    *("worker", "port", "misuse", "vectors", "limits", "ids", "fork", "signals", "copies", "plugins"),
    *("cpp17", "cpp20", "cpp_lock_all", "cpp_semaphore", "cpp_counting_semaphore", "cpp_shared_mutex", "cpp_latch"),
    *("cpp_id_generator", "cpp_bloom_filter", "cpp_queue", "cpp_consumer", "cpp_worker", "cpp_limits_ids"),
    *("coroutines", "at_exit"),
)
# The others are left to `long`.
UNDER_VALGRIND = (
    *("misuse", "lock", "lock_all", "semaphore", "counting_semaphore", "rw_lock", "latch", "id_generator"),
    *("bloom_filter", "worker", "port", "limits", "ids", "cpp17", "cpp_lock_all", "cpp_semaphore", "cpp_counting_semaphore"),
    *("cpp_shared_mutex", "cpp_latch", "cpp_id_generator", "cpp_bloom_filter", "cpp_worker"),
    *("queue", "queue_bounds", "queue_port", "cpp_queue", "cpp_consumer"),
)
UNDER_ASAN = (
    *("misuse", "lock_all", "semaphore", "counting_semaphore", "rw_lock", "latch", "id_generator"),
    *("bloom_filter", "queue", "queue_bounds", "queue_port", "worker", "port", "limits", "ids"),
)

UNDER_TSAN = ("lock", "port", "cpp17", "cpp_queue")

# valgrind runs one thread at a time; unless it is fair, a thread that looks again and again keeps the others from their turns: a
# server's answer was not read for 10 s.
VALGRIND = ("valgrind", "--quiet", "--error-exitcode=99", "--fair-sched=yes")

STRICT = ("-Wall", "-Wextra", "-Werror", "-Wpedantic", "-g", "-D_POSIX_C_SOURCE=200809L")

# Tells check.h that time bounds are to be generous.
SLOWED = {"SLOWED_DOWN": "1"}
# A program that runs fifty times slower may need more than a second for the way of an answer.
PATIENT = "?response_timeout=20s&operation_timeout=60s"


#: Programs that run beside one another: under valgrind a program that shares a processor is late for time-outs.
BESIDE = 2


class Tests:
    """What was counted so far, and the servers of the programs."""

    def __init__(self, servers: Iterable[PrivateRedis]) -> None:
        self.passed = 0
        self.failed = 0
        self.skips = 0
        self._free: queue.SimpleQueue[PrivateRedis] = queue.SimpleQueue()
        for server in servers:
            self._free.put(server)
        #: Held while something is counted and printed.
        self._telling = threading.Lock()

    def beside(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Does all of them, several at a time."""
        with ThreadPoolExecutor(BESIDE) as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()

    @contextmanager
    def server(self) -> Iterator[PrivateRedis]:
        """One for its caller alone, and empty: the same programs run several times, and not every object has a time to live."""
        server = self._free.get()
        try:
            server.command("FLUSHALL")
            yield server
        finally:
            self._free.put(server)

    def result(self, name: str, why_not: str = "") -> None:
        """One test of this script's own."""
        with self._telling:
            self.passed += not why_not
            self.failed += bool(why_not)
            print(f"not ok {name}: {why_not}" if why_not else f"ok {name}", flush=True)

    def skipped(self, name: str, why: str) -> None:
        """One that cannot be run here."""
        with self._telling:
            self.skips += 1
            print(f"skipped {name}: {why}", flush=True)

    def program(self, command: Sequence[str], env: dict[str, str], name: str, timeout: float = 60) -> None:
        """Runs a test program, on a server unless `env` names one, and counts its cases."""
        with self.server() as server:
            url = server.url + (PATIENT if SLOWED.items() <= env.items() else "")
            begun = time.monotonic()
            try:
                run = subprocess.run(
                    command,
                    env=os.environ | {"REDIS_URL": url} | env,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=timeout,
                )
            except subprocess.TimeoutExpired as late:
                said = (late.output or b"").decode(errors="replace")
                self.result(name, f"still running after {timeout} s, and said:\n{said}")
                return
            took = time.monotonic() - begun
        output = run.stdout.decode(errors="replace")
        passed, failed = (len(re.findall(rf"^{word} ", output, re.M)) for word in ("ok", "not ok"))
        with self._telling:
            self.passed += passed
            self.failed += failed
            print(f"# {name}: {took:.1f} s\n{output}", end="", flush=True)
        if run.returncode != 0 and failed == 0:
            self.result(name, f"ended with {run.returncode}")
        elif passed + failed == 0:
            self.result(name, "ran no case")


def call(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """Runs a build step; its output is shown when it fails."""
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if run.returncode != 0:
        print(run.stdout)
        sys.exit(f"{' '.join(map(str, command))} ended with {run.returncode}")
    return run.stdout


def install(prefix: Path, *, fault_injection: bool = False) -> dict[str, str]:
    """Builds the library and installs it; the environment in which programs find it."""
    built = crates.built("libdlock-ffi", fault_injection=fault_injection)
    installed = prefix / "installed"
    sources = [built / "libdlock.so", built / "libdlock.a", ROOT / "Cargo.toml", ROOT / "ffi-c/install.sh"]
    sources += [path for folder in ("include", "ffi-c/package") for path in (ROOT / folder).rglob("*")]
    # A header that is installed again has all programs compiled again.
    if not installed.exists() or any(path.stat().st_mtime >= installed.stat().st_mtime for path in sources):
        installed.unlink(missing_ok=True)
        call("ffi-c/install.sh", built, prefix, env={"KEEP_DEBUG": "1"})  # for valgrind's traces
        installed.touch()
    return {"LD_LIBRARY_PATH": str(prefix / "lib"), "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}


def build_programs(prefix: Path) -> Path:
    """Compiles all programs through find_package."""
    generated = BUILD / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    for name, header in (("", vectors.header), ("_ids", vectors.ids_header)):
        file, text = generated / f"vectors{name}.h", header(ROOT / "tests/vectors")
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    programs = BUILD / "programs"
    call("cmake", "-S", HERE, "-B", programs, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DGENERATED={generated}")
    call("cmake", "--build", programs, "--parallel", "2")
    return programs


def through_pkg_config(tests: Tests, env: dict[str, str]) -> None:
    """C11 and C++17 through pkg-config."""
    flags = call("pkg-config", "--cflags", "--libs", "dlock", env=env).split()
    for name, compiler, standard in (("lock.c", "cc", "c11"), ("cpp17.cpp", "c++", "c++17")):
        program = BUILD / f"pkg-config-{Path(name).stem}"
        call(compiler, f"-std={standard}", *STRICT, HERE / "programs" / name, "-o", program, *flags, "-pthread")
        tests.program([str(program)], env, f"{name} through pkg-config")


def under_asan(tests: Tests, name: str, env: dict[str, str]) -> None:
    """The address sanitizer finds nothing."""
    flags = call("pkg-config", "--cflags", "--libs", "dlock", env=env).split()
    sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    # The library's own memory lives as long as the process by design; leaks are valgrind's part below.
    quiet = SLOWED | {"ASAN_OPTIONS": "detect_leaks=0"}
    program = BUILD / f"asan-{name}"
    source = HERE / "programs" / f"{name}.c"
    call("cc", "-std=c11", *STRICT, *sanitized, source, "-o", program, f"-I{BUILD / 'generated'}", *flags, "-pthread")
    tests.program([str(program)], env | quiet, f"{name} under the address sanitizer")


def under_tsan(tests: Tests, prefix: Path, name: str, env: dict[str, str]) -> None:
    """The thread sanitizer finds nothing but what the suppression file gives a reason for."""
    flags = call("pkg-config", "--cflags", "--libs", "dlock", env=env).split()
    (source,) = (HERE / "programs").glob(f"{name}.c*")
    compiler = ["cc", "-std=c11"] if source.suffix == ".c" else ["c++", "-std=c++17"]
    program = BUILD / f"tsan-{name}"
    generated = f"-I{BUILD / 'generated'}"
    call(*compiler, *STRICT, "-fsanitize=thread", source, "-o", program, generated, *flags, "-pthread")
    told = SLOWED | {"TSAN_OPTIONS": f"suppressions={prefix / 'share/dlock/tsan.supp'}"}
    # Older ones find no place for their shadow where the kernel chooses addresses from too many. Containers may forbid it.
    fixed = ["setarch", "-R"]
    allowed = subprocess.run([*fixed, "true"], capture_output=True).returncode == 0
    tests.program([*(fixed if allowed else []), str(program)], env | told, f"{name} under the thread sanitizer")


def under_valgrind(tests: Tests, programs: Path, name: str, env: dict[str, str]) -> None:
    """No error and no leak, without any suppression: the process-wide runtime stays reachable, which is none."""
    # A forked child leaks its parent's runtime on purpose, and the stacks that reached it are gone there.
    leaks = "no" if name == "fork" else "full"
    command = [*VALGRIND, f"--leak-check={leaks}"]
    command += ["--errors-for-leak-kinds=definite,indirect", "--show-leak-kinds=definite,indirect"]
    tests.program([*command, str(programs / name)], env | SLOWED, f"{name} under valgrind", timeout=300)


def shutdown(tests: Tests, programs: Path, where: str, env: dict[str, str]) -> None:
    """After dlock_shutdown() nothing is left, still reachable or not, but what the suppression file gives a reason for."""
    suppressions = BUILD / "prefix/share/dlock/valgrind.supp"
    command = [*VALGRIND, "--leak-check=full", "--show-leak-kinds=all"]
    command += ["--errors-for-leak-kinds=all", f"--suppressions={suppressions}"]
    tests.program(
        [*command, str(programs / "shutdown"), where], env | SLOWED, f"shutdown {where} under valgrind", timeout=300
    )


def exports(tests: Tests, prefix: Path) -> None:
    """The list of exports.h, which misuse.c and panics.c go through, is what the library exports."""
    symbols = call("nm", "--dynamic", "--defined-only", "--format=posix", prefix / "lib/libdlock.so")
    exported = {line.split()[0] for line in symbols.splitlines()}
    listed = set(re.findall(r"X\((dlock_\w+),", (HERE / "programs/exports.h").read_text()))
    difference = exported ^ listed
    tests.result("exports_h_lists_every_export", f"not in both: {sorted(difference)}" if difference else "")


def scripts(tests: Tests, prefix: Path) -> None:
    """The lint of Lua composes the scripts without Rust; the library has the same texts."""
    absent = lua.absent(list(lua.Source(lua.CRATE).scripts()), (prefix / "lib/libdlock.so").read_bytes())
    tests.result("lua_is_linted_as_the_library_has_it", "\n".join(absent))


def panics(tests: Tests, programs: Path) -> None:
    """Against a library in which every export panics when it is asked to."""
    env = install(BUILD / "fault-prefix", fault_injection=True)
    quiet = {"RUST_BACKTRACE": "0"}
    tests.program([str(programs / "panics")], env | quiet, "panics against the library with fault injection")


def cpp_standard(code: str) -> str:
    """The oldest that a documented program needs."""
    return "-std=c++20" if "co_await" in code else "-std=c++17"


def event_loops(tests: Tests, env: dict[str, str]) -> None:
    """The examples around epoll, libuv and Asio: somebody else holds the lock for a while, and their loops go on."""
    flags = call("pkg-config", "--cflags", "--libs", "dlock", env=env).split()
    libuv = call("pkg-config", "--cflags", "--libs", "libuv").split()
    folder = ROOT / "examples/event-loops"
    for name, compiler, more in (
        ("epoll.c", ["cc", "-std=c11", "-Wpedantic"], []),
        ("libuv.c", ["cc", "-std=c11", "-Wpedantic"], libuv),
        ("asio.cpp", ["c++", "-std=c++17"], ["-DASIO_STANDALONE"]),
    ):
        program = BUILD / f"event-loop-{Path(name).stem}"
        call(*compiler, "-Wall", "-Wextra", "-Werror", folder / name, "-o", program, *flags, *more, "-pthread")
        with tests.server() as server:
            server.command("HSET", "orders", "01234567-89ab-4cde-8f01-23456789abcd:1", "1")
            server.command("PEXPIRE", "orders", "500")
            redis = {"REDIS_URL": server.url}
            run = subprocess.run([program], env=os.environ | env | redis, capture_output=True, text=True, timeout=60)
        tokens = [int(token) for token in re.findall(r"job \d works under token (\d+)", run.stdout)]
        ticks = re.search(r"done after (\d+) ticks", run.stdout)
        # Half of what half a second has.
        right = run.returncode == 0 and len(tokens) == 3 and tokens == sorted(set(tokens))
        right = right and ticks is not None and int(ticks[1]) >= 25
        tests.result(f"event_loop_{Path(name).stem}", "" if right else f"{run.returncode}: {run.stdout}{run.stderr}")


def documentation(tests: Tests, env: dict[str, str]) -> list[Callable[[], None]]:
    """The complete programs that the pages of docs/c show, compiled and run as they stand."""
    flags = call("pkg-config", "--cflags", "--libs", "dlock", env=env).split()

    def check(name: str, language: str, code: str) -> None:
        source = BUILD / f"docs-{name}.{language}"
        source.write_text(code)
        program = source.with_suffix("")
        compiler = ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L"] if language == "c" else ["c++", cpp_standard(code)]
        call(*compiler, "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags, "-pthread")
        with tests.server() as server:
            redis = {"REDIS_URL": server.url}
            run = subprocess.run([program], env=os.environ | env | redis, capture_output=True, text=True, timeout=60)
        tests.result(f"docs_c_{name}", "" if run.returncode == 0 else f"{run.returncode}: {run.stdout}{run.stderr}")

    programs = [
        partial(check, f"{page.stem.lower()}_{number}", language, code)
        for page in sorted((ROOT / "docs/c").glob("*.md"))
        for number, (language, code) in enumerate(re.findall(r"^```(c|cpp)\n(.*?)^```", page.read_text(), re.M | re.S), 1)
        if "int main(" in code
    ]
    return [*programs] or [partial(tests.result, "docs_c", "shows no program")]


def installed(tests: Tests, prefix: Path) -> None:
    """The installed tree where users put it."""
    packages.headers(tests.result, prefix, BUILD)
    packages.refused(tests.result, prefix, BUILD)
    packages.moved(tests.result, tests.skipped, BUILD)
    packages.elsewhere(tests.result, BUILD)


def bounds_a_time(program: str) -> bool:
    """Whether a program fails when another takes its processor for long."""
    sources = [
        path for path in (HERE / "programs").glob(f"{program.removesuffix('_static')}.*") if path.suffix in (".c", ".cpp")
    ]
    return "bound_ms(" in "".join(source.read_text() for source in sources)


def main(arguments: Sequence[str]) -> int:
    """Everything but what is slow, or with `long` only that."""
    prefix = BUILD / "prefix"
    env = install(prefix)
    programs = build_programs(prefix)
    print("--- built", flush=True)

    def plain(name: str, *words: str) -> Callable[[], None]:
        return partial(tests.program, [str(programs / name), *words], env, " ".join([name, *words]))

    with ExitStack() as open_:
        tests = Tests([open_.enter_context(PrivateRedis()) for _ in range(BESIDE)])
        exits = partial(tests.program, [str(programs / "exits")], env, "exits", timeout=20)
        valgrind = partial(under_valgrind, tests, programs, env=env)
        if "long" in arguments:
            jobs = [partial(valgrind, name) for name in PROGRAMS if name not in UNDER_VALGRIND]
            jobs += [partial(shutdown, tests, programs, where, env) for where in ("busy", "atexit")]
            jobs += [partial(shutdown, tests, programs, "main", env | {"REDIS_URL": "memory://shutdown"})]
            tests.beside([*jobs, *(exits for _ in range(200))])
        else:
            timed = {name: bounds_a_time(name) for name in PROGRAMS}
            for name in PROGRAMS:
                if timed[name]:
                    plain(name)()
            for where in ("busy", "atexit"):
                plain("shutdown", where)()
            through_pkg_config(tests, env)
            event_loops(tests, env)
            exports(tests, prefix)
            scripts(tests, prefix)
            jobs = [partial(valgrind, name) for name in UNDER_VALGRIND]
            jobs += [partial(shutdown, tests, programs, "main", env), partial(panics, tests, programs)]
            jobs += [partial(under_asan, tests, name, env) for name in UNDER_ASAN]
            jobs += [partial(under_tsan, tests, prefix, name, env) for name in UNDER_TSAN]
            jobs += [partial(installed, tests, prefix)]
            checks = [plain(name) for name in PROGRAMS if not timed[name]] + [exits]
            tests.beside([*jobs, *checks, *documentation(tests, env)])
    print(f"{tests.passed} passed, {tests.failed} failed, {tests.skips} skipped")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
