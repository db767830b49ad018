"""The interfaces of Node, what the native module returns for them, and the way there."""

from __future__ import annotations

from parts import Part
from records import ALL_STATS, BLOCKS, GAUGES, HISTOGRAM, KINDS, METRICS, RECORDS, Field
from words import camel, sentence, wrapped

#: As users see it.
TYPES = {
    "flag": "boolean",
    "count": "number",
    "integer": "number",
    "counts": "readonly number[]",
    "duration": "number",
    "histogram": "Histogram",
    "text?": "string | undefined",
    "count?": "number | undefined",
    "duration?": "number | undefined",
    "time?": "bigint | undefined",
}
#: Of a token, which is no number to reckon with.
TOKEN = "bigint | undefined"
RUST = {"count": "f64", "counts": "Vec<f64>", "duration": "f64", "histogram": "Histogram"}


def name(field: Field) -> str:
    """With the unit: milliseconds with their fraction, and of points in time microseconds."""
    return camel(field.name) + {"duration": "Ms", "time": "Us"}.get(field.type.removesuffix("?"), "")


def type_of(field: Field) -> str:
    if field.is_block:
        return field.type
    return TOKEN if field.name == "token" else TYPES[field.type]


def comment(text: str) -> str:
    if len(text) <= 111:
        return f"  /** {text} */\n"
    return "\n".join(["  /**", *(f"   * {line}" for line in wrapped(text, 114)), "   */\n"])


def interface(of: str) -> str:
    return "".join(
        f"{comment(sentence(each.phrase('node')))}  readonly {name(each)}: {type_of(each)};\n" for each in RECORDS[of].fields
    )


def native(of: str) -> str:
    """As the native module gives it: what is not there is null, or no field at all."""
    lines = []
    for each in RECORDS[of].fields:
        optional = each.type.endswith("?")
        type = type_of(each).replace(" | undefined", " | null")
        lines.append(f"  readonly {name(each)}{'?' if optional else ''}: {type};\n")
    return "".join(lines)


def members(of: str, source: str) -> str:
    """The fields of the class, and its constructor."""
    fields = RECORDS[of].fields
    lines = [f"  readonly {name(each)}: {type_of(each)};\n" for each in fields]
    lines.append(f"\n  constructor({source}: Native{of}) {{\n")
    for each in fields:
        lines.append(f"    this.{name(each)} = {source}.{name(each)}{' ?? undefined' if each.type.endswith('?') else ''};\n")
    return "".join([*lines, "  }\n"])


def struct(of: str) -> str:
    lines = []
    for each in RECORDS[of].fields:
        unit = "_ms" if each.type == "duration" else ""
        # napi's own way to camel case does not know digits.
        rename = f'    #[napi(js_name = "{name(each)}")]\n' if unit and any(letter.isdigit() for letter in each.name) else ""
        lines.append(f"{rename}    pub {each.name}{unit}: {each.type if each.is_block else RUST[each.type]},\n")
    return "".join(lines)


def value(field: Field, source: str) -> tuple[str, str]:
    if field.type == "duration":
        return f"{field.name}_ms", f"millis({source}.{field.name}_us)"
    of = f"{source}.{field.name}"
    if field.is_block:
        return field.name, f"{field.type}::from({of})"
    texts = {
        "count": f"{of} as f64",
        "counts": f"{of}.iter().map(|count| *count as f64).collect()",
        "histogram": f"Histogram::from({of})",
    }
    return field.name, texts[field.type]


def conversion(of: str, source: str) -> str:
    pairs = [value(each, source) for each in RECORDS[of].fields]
    return "".join(f"            {field}: {text},\n" for field, text in pairs)


def part(block: str) -> str:
    """The name of the part for a client's own statistics, or for those of a kind."""
    return f"{block}-stats" if block else "stats"


def metrics() -> str:
    """The word for each kind of object, and what each statistic is, in monitoring."""
    kinds = "".join(f'  {camel(block)}: "{KINDS.get(block, block)}",\n' for block in BLOCKS)
    gauges = ", ".join(f'"{camel(each)}"' for each in GAUGES)
    what = "".join(f'  {camel(each)}: "{text}",\n' for each, text in METRICS.items())
    return (
        f"/** As `dlock serve` says them. */\nconst KINDS: Readonly<Record<Kind, string>> = {{\n{kinds}}};\n\n"
        f"const GAUGES: readonly string[] = [{gauges}] satisfies Field[];\n\n"
        f"/** What each statistic is, of whatever kind. */\nconst FIELDS: Readonly<Record<Field, string>> = {{\n{what}}};\n"
    )


def parts() -> list[Part]:
    return [
        Part("node/ts/stats.ts", interface("Histogram"), "histogram"),
        *(Part("node/ts/stats.ts", interface(record.name), part(block)) for block, record in ALL_STATS.items()),
        Part("node/ts/rate-limiter.ts", interface("Decision"), "decision"),
        Part("node/ts/rate-limiter.ts", members("Decision", "decision"), "decided"),
        Part("node/ts/lock.ts", interface("Inspection"), "inspection"),
        Part("node/ts/lock.ts", members("Inspection", "seen"), "seen"),
        Part("node/ts/semaphore.ts", interface("SemaphoreInspection"), "semaphore-inspection"),
        Part("node/ts/counting-semaphore.ts", interface("CountingSemaphoreInspection"), "counting-semaphore-inspection"),
        Part("node/ts/rw-lock.ts", interface("RwLockInspection"), "rw-lock-inspection"),
        Part("node/ts/rw-lock.ts", members("RwLockInspection", "seen"), "seen"),
        Part("node/ts/native.ts", native("Inspection"), "inspection"),
        Part("node/ts/native.ts", native("SemaphoreInspection"), "semaphore-inspection"),
        Part("node/ts/native.ts", native("CountingSemaphoreInspection"), "counting-semaphore-inspection"),
        Part("node/ts/native.ts", native("RwLockInspection"), "rw-lock-inspection"),
        Part("node/ts/native.ts", native("Decision"), "decision"),
        Part("node/ts/prom-client.ts", metrics(), "metrics"),
        Part("node/src/stats.rs", struct(HISTOGRAM.name), "histogram"),
        *(Part("node/src/stats.rs", struct(record.name), part(block)) for block, record in ALL_STATS.items()),
        *(
            Part("node/src/stats.rs", conversion(record.name, "stats"), f"{part(block)}-of")
            for block, record in ALL_STATS.items()
        ),
        Part("node/src/stats.rs", conversion("Histogram", "times"), "histogram-of"),
    ]
