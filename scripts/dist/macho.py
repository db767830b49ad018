"""Reads what matters of a library or a program for macOS: what it needs, its own name, and whether its signature holds.

An Apple silicon kills a program whose pages do not have the hashes that its signature says, and stripping changes pages.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

_MAGIC = 0xFEEDFACF
_LOAD_DYLIB, _ID_DYLIB, _CODE_SIGNATURE = 0xC, 0xD, 0x1D
_CODE_DIRECTORY = 0xFADE0C02


@dataclass(frozen=True)
class MachO:
    """A file of 64 bits with one architecture."""

    needs: list[str]
    #: What programs record of a library when they are linked with it.
    own_name: str | None
    #: Whether each page has the hash of the signature; `None` without one.
    is_signed: bool | None


def read(file: Path) -> MachO:
    """Reads it."""
    data = file.read_bytes()
    magic, _, _, _, commands = struct.unpack_from("<5I", data)
    if magic != _MAGIC:
        raise ValueError(f"{file} is no Mach-O file of 64 bits")
    needs: list[str] = []
    own_name, is_signed = None, None
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", data, at)
        if command in (_LOAD_DYLIB, _ID_DYLIB):
            (name_at,) = struct.unpack_from("<I", data, at + 8)
            name = data[at + name_at : at + size].split(b"\0")[0].decode()
            if command == _ID_DYLIB:
                own_name = name
            else:
                needs.append(name)
        elif command == _CODE_SIGNATURE:
            offset, length = struct.unpack_from("<2I", data, at + 8)
            is_signed = _holds(data, data[offset : offset + length])
        at += size
    return MachO(needs, own_name, is_signed)


def _holds(data: bytes, signature: bytes) -> bool:
    (count,) = struct.unpack_from(">I", signature, 8)
    for number in range(count):
        _, at = struct.unpack_from(">2I", signature, 12 + 8 * number)
        if struct.unpack_from(">I", signature, at)[0] == _CODE_DIRECTORY:
            return _directory_holds(data, signature[at:])
    return False


def _directory_holds(data: bytes, directory: bytes) -> bool:
    hashes, _, _, slots, limit = struct.unpack_from(">5I", directory, 16)
    size, _, _, log_of_page = struct.unpack_from("4B", directory, 36)
    page = 1 << log_of_page
    wanted = [directory[hashes + size * slot : hashes + size * (slot + 1)] for slot in range(slots)]
    found = [hashlib.sha256(data[start : min(start + page, limit)]).digest()[:size] for start in range(0, limit, page)]
    return wanted == found
