//! `include/dlock.h` is what cbindgen makes of this crate today, and the library exports exactly its functions.
//!
//! `UPDATE_HEADER=1 cargo test -p libdlock-ffi --test header` writes it anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cbindgen::{Builder, Config, DocumentationStyle, ExportConfig, Language, Style};

/// The header's order: what a reader needs first comes first.
const SOURCES: [&str; 44] = [
    "error.rs",
    "version.rs",
    "types.rs",
    "client.rs",
    "stats.rs",
    "lock.rs",
    "held.rs",
    "lock_all.rs",
    "held_all.rs",
    "decision.rs",
    "rate.rs",
    "rate_limiter.rs",
    "limiter_adjust.rs",
    "decisions.rs",
    "semaphore.rs",
    "rw_lock.rs",
    "latch.rs",
    "id_generator.rs",
    "bloom_filter.rs",
    "counting_semaphore.rs",
    "queue.rs",
    "delivery.rs",
    "queue_jobs.rs",
    "snowflake.rs",
    "worker.rs",
    "cancel.rs",
    "completion.rs",
    "port.rs",
    "submit/client.rs",
    "submit/lock.rs",
    "submit/held.rs",
    "submit/semaphore.rs",
    "submit/rw_lock.rs",
    "submit/lock_all.rs",
    "submit/rate_limiter.rs",
    "submit/limiter_adjust.rs",
    "submit/latch.rs",
    "submit/id_generator.rs",
    "submit/bloom_filter.rs",
    "submit/counting_semaphore.rs",
    "submit/queue.rs",
    "submit/delivery.rs",
    "submit/worker.rs",
    "shutdown.rs",
];

fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header_path() -> PathBuf {
    crate_dir().join("../include/dlock.h")
}

fn part(name: &str) -> String {
    std::fs::read_to_string(crate_dir().join("header").join(name)).unwrap().trim_end().to_owned()
}

fn generate() -> String {
    let config = Config {
        language: Language::C,
        header: Some(part("preamble.h")),
        trailer: Some(part("macros.h")),
        include_guard: Some("DLOCK_H".to_owned()),
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        no_includes: true,
        cpp_compat: true,
        style: Style::Both,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::Doxy,
        export: ExportConfig { include: Vec::new(), ..ExportConfig::default() },
        line_length: 120,
        tab_width: 2,
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(crate_dir().join("src").join(source));
    }
    let mut text = Vec::new();
    builder.generate().expect("cbindgen understands the crate").write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_committed_header_is_what_the_crate_says() {
    let generated = generate();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(header_path(), &generated).unwrap();
    }
    let committed = std::fs::read_to_string(header_path()).unwrap_or_default();
    assert!(
        committed == generated,
        "include/dlock.h is not what ffi-c/src says; UPDATE_HEADER=1 cargo test -p libdlock-ffi --test header"
    );
}

#[test]
fn the_library_exports_the_headers_functions_and_nothing_else() {
    let output = Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=posix"])
        .arg(library())
        .output()
        .expect("nm, which comes with the C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).unwrap();
    let exported: BTreeSet<String> =
        listing.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    assert_eq!(exported, declared(&generate()));
}

/// Names of the functions that a header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let code: String = header.split("*/").map(|piece| piece.split("/*").next().unwrap()).collect();
    let names = code.split('(').filter_map(|before| before.rsplit(|c: char| !is_word(c)).next());
    names.filter(|name| name.starts_with("dlock_")).map(str::to_owned).collect()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The library that cargo built for this very test run, next to it.
fn library() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let beside = exe.parent().unwrap().join("libdlock.so");
    assert!(beside.exists(), "no {}", beside.display());
    beside
}
