"""The headers under every warning, and the installed tree where users put it; part of run.py."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import crates

ROOT = Path(__file__).resolve().parents[2]
Result = Callable[[str, str], None]

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion")
CPP_WARNINGS = (*WARNINGS, "-Weffc++", "-Wzero-as-null-pointer-constant")

#: Every _INIT macro, where a user's compiler sees what is in it.
MACROS = "".join(
    f"dlock_{name.lower()}_t {name.lower()} = DLOCK_{name}_INIT; (void){name.lower()};"
    for name in re.findall(r"^#define DLOCK_(\w+)_INIT\b", (ROOT / "include/dlock.h").read_text(), re.MULTILINE)
)
C = f"#include <dlock.h>\nint main(void) {{ {MACROS} return 0; }}\n"
CPP = f"#include <dlock.hpp>\nint main() {{ {MACROS} }}\n"
ALL_HPP = "".join(path.read_text() for path in (ROOT / "include").rglob("*.hpp"))
#: As behind windows.h. The standard library's headers come first, because some of them call functions of these names.
BEHIND_MACROS = (
    "".join(
        f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n"
        for name in sorted({*re.findall(r"#include <(.*)>", ALL_HPP)})
    )
    + "#define min(a, b) ((a) < (b) ? (a) : (b))\n#define max(a, b) ((a) > (b) ? (a) : (b))\n"
    + CPP
)

#: What users of other shared mutexes may write, and what the compiler tells them.
HABITS = {
    "mutex.lock_upgrade()": "lock() the write side first",
    "(void)mutex.try_lock_upgrade()": "lock() the write side first",
    "mutex.unlock_upgrade_and_lock()": "lock() the write side first",
    "(void)mutex.try_unlock_shared_and_lock()": "lock() the write side first",
    "mutex.unlock_and_lock_shared()": "is downgrade() here",
    "(void)mutex.native_handle()": "get() for the write side and get_shared() for the read side",
}

#: A program that is linked and run.
USER = "#include <dlock.h>\nint main(void) { return dlock_abi_version() == DLOCK_ABI_VERSION ? 0 : 1; }\n"
#: One that needs the library's thread.
WHOLE = """#include <dlock.h>
int main(void) {
  dlock_client_t* client = DLOCK_NULL;
  dlock_lock_t* lock = DLOCK_NULL;
  if (dlock_client_open("memory://", 9, DLOCK_NULL, &client, DLOCK_NULL) != DLOCK_OK) return 1;
  if (dlock_lock_open(client, "whole", 5, DLOCK_NULL, &lock, DLOCK_NULL) != DLOCK_OK) return 2;
  if (dlock_lock_acquire(lock, DLOCK_NULL, DLOCK_NULL, DLOCK_NULL) != DLOCK_OK) return 3;
  return dlock_lock_release(lock, DLOCK_NULL);
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(dlock 0.1 REQUIRED)
foreach(kind dlock dlock_static)
  add_executable(with_${kind} user.c)
  target_link_libraries(with_${kind} PRIVATE dlock::${kind})
endforeach()
if(WHOLE)
  add_executable(whole whole.c)
  target_link_libraries(whole PRIVATE -static dlock::dlock_static)
endif()
"""


def flags(package: str, *more: str, env: dict[str, str]) -> list[str]:
    """The flags that pkg-config has for a package."""
    command = ["pkg-config", *more, "--cflags", "--libs", package]
    said = subprocess.run(command, env=os.environ | env, capture_output=True, text=True).stdout
    return shlex.split(said)


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """What a command says when it fails; nothing when it does not."""
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | (env or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return "" if done.returncode == 0 else f"{command[0]} ended with {done.returncode}: {done.stdout}"


def headers(result: Result, prefix: Path, build: Path) -> None:
    """No warning in C11, C++17 and C++20 with any compiler that is here, by whatever header comes first; one sentence, and
    nothing else, in C++14 and without exceptions."""
    (build / "headers.c").write_text(C)
    (build / "headers.cpp").write_text(CPP)
    (build / "macros.cpp").write_text(BEHIND_MACROS)
    alone = sorted((prefix / "include/dlock").glob("*.hpp"))
    for header in alone:
        (build / f"alone-{header.stem}.cpp").write_text(f"#include <dlock/{header.name}>\nint main() {{}}\n")
    check = ["-fsyntax-only", f"-I{prefix / 'include'}"]
    for c, cpp in (("gcc", "g++"), ("clang", "clang++")):
        if shutil.which(cpp) is None:
            continue
        result(f"header_without_a_warning_in_c11_with_{c}", run(c, "-std=c11", *check, *WARNINGS, build / "headers.c"))
        for standard in ("c++17", "c++20"):
            why_not = run(cpp, f"-std={standard}", *check, *CPP_WARNINGS, build / "headers.cpp")
            result(f"headers_without_a_warning_in_{standard}_with_{c}", why_not)
        why_not = run(cpp, "-std=c++20", *check, *CPP_WARNINGS, build / "macros.cpp")
        result(f"headers_behind_macros_min_and_max_with_{c}", why_not)
        sources = [build / f"alone-{header.stem}.cpp" for header in alone]
        result(f"each_header_stands_alone_with_{c}", run(cpp, "-std=c++20", *check, *CPP_WARNINGS, *sources))
        for what, given, needs in (
            ("an_older_standard", ["-std=c++14"], "need C++17"),
            ("a_program_without_exceptions", ["-std=c++17", "-fno-exceptions"], "need exceptions"),
        ):
            said = run(cpp, *given, *check, *WARNINGS, build / "headers.cpp")
            errors = re.findall(r"error: (.*)", said)
            fits = len(errors) > 0 and needs in errors[0] and "dlock/" not in "".join(errors[1:])
            result(f"{what}_is_refused_in_a_sentence_by_{c}", "" if fits else said or "it compiles")


def refused(result: Result, prefix: Path, build: Path) -> None:
    """What a shared mutex does not have says so when it is compiled, and what to do instead."""
    source = build / "habit.cpp"
    for compiler in filter(shutil.which, ("g++", "clang++")):
        unhelpful = []
        for call, says in HABITS.items():
            source.write_text(f"#include <dlock.hpp>\nvoid habit(dlock::shared_mutex& mutex) {{ {call}; }}\n")
            said = run(compiler, "-std=c++17", "-fsyntax-only", f"-I{prefix / 'include'}", source)
            if not any("dlock::shared_mutex: " in line and says in line for line in re.findall(r"error: (.*)", said)):
                unhelpful.append(f"{call}: {said or 'it compiles'}")
        result(f"habits_of_other_shared_mutexes_are_refused_in_a_sentence_by_{compiler}", "; ".join(unhelpful))


def elsewhere(result: Result, build: Path) -> None:
    """Folders of their own outside of the prefix, with a space; and a prefix that is found through a symbolic link."""
    root, user = build / "own fol'ders", build / "us er"
    shutil.rmtree(root, ignore_errors=True)
    folders = {"LIBDIR": str(root / "a lib"), "INCLUDEDIR": str(root / "an include")}
    why_not = run("ffi-c/install.sh", crates.folder(), root / "prefix", env=folders)
    env = {"PKG_CONFIG_PATH": str(root / "a lib/pkgconfig"), "LD_LIBRARY_PATH": str(root / "a lib")}
    for package in ("dlock", "dlock-static"):
        program = user / f"elsewhere-{package}"
        built = why_not or run("gcc", "-std=c11", user / "user.c", "-o", program, *flags(package, env=env))
        result(f"folders_outside_of_the_prefix_through_{package}", built or run(program, env=env))
    static = flags("dlock", "--static", env=env)
    result("pkg_config_static_names_what_the_library_needs", "" if "-lpthread" in static else " ".join(static) or "nothing")

    why_not = run("ffi-c/install.sh", crates.folder(), root / "usr")
    (root / "lib").symlink_to("usr/lib")
    why_not = why_not or run("cmake", "-S", user, "-B", user / "linked", f"-Ddlock_DIR={root / 'lib/cmake/dlock'}")
    why_not = why_not or run("cmake", "--build", user / "linked")
    result("cmake_through_a_link_to_the_installed_folder", why_not or run(user / "linked/with_dlock"))


def moved(result: Result, skipped: Result, build: Path) -> None:
    """An installed tree that was moved, with a space in its name, serves pkg-config and CMake; then it is uninstalled."""
    first, prefix, user = build / "in stalled", build / "mo ved & away", build / "us er"
    for folder in (first, prefix, user):
        shutil.rmtree(folder, ignore_errors=True)
    user.mkdir(parents=True)
    (user / "user.c").write_text(USER)
    (user / "whole.c").write_text(WHOLE)
    (user / "CMakeLists.txt").write_text(CMAKE)
    why_not = run("ffi-c/install.sh", crates.folder(), first)
    if why_not:
        result("an_install_into_a_prefix_with_a_space", why_not)
        return
    (first / "lib/pkgconfig/other.pc").touch()
    first.rename(prefix)

    env = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}
    for package in ("dlock", "dlock-static"):
        program = user / package
        why_not = run("gcc", "-std=c11", user / "user.c", "-o", program, *flags(package, env=env))
        # A static library needs no other file.
        found = env if package == "dlock" else {}
        result(f"a_moved_tree_through_pkg_config_as_{package}", why_not or run(program, env=found))
    libc = subprocess.run(["gcc", "-print-file-name=libc.a"], capture_output=True, text=True).stdout.strip()
    has_libc = Path(libc).is_absolute()
    whole = f"-DWHOLE={'ON' if has_libc else 'OFF'}"
    why_not = run("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}", whole)
    why_not = why_not or run("cmake", "--build", user / "build")
    for kind in ("dlock", "dlock_static"):
        result(f"a_moved_tree_through_cmake_as_{kind}", why_not or run(user / f"build/with_{kind}"))
    if has_libc:
        result("a_program_without_shared_libraries_through_cmake", why_not or run(user / "build/whole"))
        program = user / "whole"
        static = flags("dlock", "--static", env=env)
        why_not = run("gcc", "-std=c11", "-static", user / "whole.c", "-o", program, *static)
        result("a_program_without_shared_libraries_through_pkg_config", why_not or run(program))
    else:
        skipped("a_program_without_shared_libraries", "there is no libc.a")

    sections = subprocess.run(["objdump", "-h", prefix / "lib/libdlock.a"], capture_output=True, text=True).stdout
    result("the_static_library_has_no_bitcode", "there is an .llvmbc" if ".llvmbc" in sections else "")
    why_not = run("ffi-c/install.sh", "--uninstall", prefix)
    left = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()]
    result("an_uninstall_removes_its_own_files_only", why_not or ("" if left == ["lib/pkgconfig/other.pc"] else str(left)))
