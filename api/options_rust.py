"""core/src/config/table.rs: the struct of options, the defaults and the table that parses."""

from __future__ import annotations

from options import FLAT, OPTIONS, PASSWORD_SOURCES, Option
from parts import Part
from words import duration, sentence, wrapped

HEAD = """//! Written by `python3 api/write.py` from api/options.json: the fields, defaults and bounds of the options.

use std::time::Duration;

use super::options::{Password, PasswordSource, Secret};
use super::spec::{
    SourceSpec, Spec, duration, duration_or_none, flag, number, optional_text, secret, source, text, word,
};
"""

#: What core calls the place that a source of passwords names.
PLACES = {"env": "Environment", "file": "File"}


def number(value: int) -> str:
    """Digits in groups of three."""
    return f"{value:_}" if value > 999 else str(value)


def rust_duration(millis: int) -> str:
    """An expression for the duration."""
    if millis == 0:
        return "Duration::ZERO"
    return f"Duration::from_secs({number(millis // 1_000)})" if millis % 1_000 == 0 else f"Duration::from_millis({millis})"


def kind(option: Option) -> tuple[str, str, str]:
    """The field's type, its default, and the macro that makes its row."""
    if option.type == "duration":
        value = rust_duration(int(option.default or 0))
        return ("Option<Duration>", f"Some({value})", "duration_or_none") if option.also else ("Duration", value, "duration")
    if option.type == "boolean":
        return "bool", str(option.default).lower(), "flag"
    if option.type == "integer":
        return option.own("rust", "type") or "u32", number(int(option.default or 0)), "number"
    if option.secret:
        return "Option<Password>", "None", "secret"
    if isinstance(option.default, str):
        stem = option.default.removesuffix("<version>")
        return "String", f'concat!("{stem}", env!("CARGO_PKG_VERSION")).to_owned()', "word" if option.allowed else "text"
    if option.own("rust", "type") == "String":
        return "String", "String::new()", "text"
    return "Option<String>", "None", "optional_text"


def doc(option: Option) -> list[str]:
    """The field's comment: what it is for, and why the default is what it is."""
    text = sentence(option.sentence("rust"))
    if option.why:
        value = duration(int(option.default or 0)) if option.type == "duration" else str(option.default)
        text += f" {value}: {sentence(option.why)[0].lower()}{sentence(option.why)[1:]}"
    return [f"    /// {line}" for line in wrapped(text, 110)]


def row(option: Option) -> str:
    bounds = "" if option.min is None or option.max is None else f", {number(option.min)}, {number(option.max)}"
    return f'    {kind(option)[2]}!("{option.full}", {option.name}{bounds}),'


def source_row(source: Option) -> str:
    place = PLACES[source.name.removeprefix(f"{source.of}_")]
    return f'    source!("{source.name}", {source.of}, {place}),'


def parts() -> list[Part]:
    lease = next(option for option in OPTIONS if option.name == "lease")
    lines = [
        HEAD,
        "/// The longest lease, given or as the watchdog's.",
        f"pub const MAX_LEASE: Duration = {rust_duration(lease.max or 0)};",
        "/// The shortest lease.",
        f"pub const MIN_LEASE: Duration = {rust_duration(lease.min or 0)};",
        "",
        "/// A client's options, checked.",
        "#[derive(Clone, PartialEq, Eq)]",
        "pub(crate) struct Options {",
    ]
    for option in OPTIONS:
        lines += [*doc(option), f"    pub {option.name}: {kind(option)[0]},"]
    lines += ["}", "", "impl Default for Options {", "    fn default() -> Self {", "        Options {"]
    for option in OPTIONS:
        lines.append(f"            {option.name}: {kind(option)[1]},")
    lines += ["        }", "    }", "}", "", "pub(super) const TABLE: &[Spec] = &["]
    lines += [row(option) for option in OPTIONS]
    lines += ["];", "", "/// Options that say where a password stands.", "pub(super) const SOURCES: &[SourceSpec] = &["]
    lines += map(source_row, PASSWORD_SOURCES)
    lines += [
        "];",
        "",
        "/// Names from before there were groups, and what they are called now.",
        "pub(super) const FLAT: &[(&str, &str)] = &[",
    ]
    lines += [f'    ("{option.name}", "{option.full}"),' for option in FLAT]
    return [Part("core/src/config/table.rs", "\n".join([*lines, "];", ""]))]
