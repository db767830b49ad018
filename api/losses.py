"""Why a hold was lost, in every language."""

from __future__ import annotations

from typing import Any

import facts
from parts import Part
from words import item, javadoc, pascal, sentence, table

LOSSES: list[dict[str, Any]] = facts.read("losses")["losses"]


def variants() -> str:
    return "".join(item(row["what"], f"{pascal(row['name'])},", "    ") for row in LOSSES)


def arms(text: str) -> str:
    """One line of a `match` for each; `text` is the key of what it gives."""
    return "".join(f'            LossReason::{pascal(row["name"])} => "{row[text]}",\n' for row in LOSSES)


def numbers() -> str:
    return "".join(
        item(row["what"], f"pub const DLOCK_LOSS_{row['name'].upper()}: dlock_loss_t = {row['number']};") for row in LOSSES
    )


def cpp() -> str:
    return "".join(f"    {row['name']} = DLOCK_LOSS_{row['name'].upper()},\n" for row in LOSSES)


def java() -> str:
    lines = [line for row in LOSSES for line in (*javadoc(sentence(row["what"]), "    "), f"    {row['name'].upper()},")]
    return "\n".join(lines)[:-1] + ";\n"


def parts() -> list[Part]:
    # Core may have more reasons than this C library knows.
    known = [row for row in LOSSES if row["name"] != "internal"]
    statuses = "".join(
        f"        Some(LossReason::{pascal(row['name'])}) => DLOCK_LOSS_{row['name'].upper()},\n" for row in known
    )
    words = " | ".join(f'"{row["name"]}"' for row in LOSSES)
    rows = [[f"`DLOCK_LOSS_{row['name'].upper()}`", row["what"]] for row in LOSSES]
    return [
        Part("core/src/lease/loss.rs", variants(), "losses"),
        Part("core/src/lease/loss.rs", arms("name"), "names"),
        Part("core/src/lease/loss.rs", arms("shown"), "shown"),
        Part("ffi-c/src/held.rs", numbers(), "losses"),
        Part("ffi-c/src/held.rs", statuses, "loss-of"),
        Part("include/dlock/held.hpp", cpp(), "losses"),
        Part("node/ts/native.ts", f"/** Why a hold was lost. */\nexport type LossReason = {words};\n", "losses"),
        Part("java/src/main/java/org/libdlock/LossReason.java", java(), "losses"),
        Part("docs/c/lock.md", table(["`dlock_loss_t`", ""], rows), "losses"),
    ]
