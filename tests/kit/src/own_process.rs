//! A test in a process of its own, though it is one of many in its program: the program runs once more, with that test alone.

use std::{
    env,
    process::{Command, Stdio},
};

use crate::process;

/// Names the test that this process was started for.
const VARIABLE: &str = "LIBDLOCK_TEST_OWN_PROCESS";

/// Runs the rest of the test that begins with it in a process of its own: one that forks, that sets what the whole process has, or
/// that looks at the threads or the memory of its process.
#[macro_export]
macro_rules! own_process {
    () => {
        fn here() {}
        if $crate::own_process::was_run(::std::any::type_name_of_val(&here)) {
            return;
        }
    };
}

/// Whether the test in which the function of this path is was run in another process, and passed; `false` in that process.
#[track_caller]
pub fn was_run(path: &str) -> bool {
    let test = name(path);
    if env::var_os(VARIABLE).is_some_and(|own| own == test.as_str()) {
        return false;
    }
    let mut command = Command::new(env::current_exe().expect("the path of this program"));
    command.args([&test, "--exact", "--include-ignored", "--nocapture"]).env(VARIABLE, &test);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = process::spawn(command).and_then(|child| child.wait_with_output()).expect("this program starts");
    let [said, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // Marked: its summary is not that of this program.
    said.lines().for_each(|line| println!("> {line}"));
    errors.lines().for_each(|line| eprintln!("> {line}"));
    // Without the count, a name that is not found would pass.
    assert!(output.status.success() && said.contains("test result: ok. 1 passed;"), "{test} failed: {}", output.status);
    true
}

/// The name that the harness has for the test in which the function of this path is.
fn name(path: &str) -> String {
    let (_, path) = path.split_once("::").expect("a path that begins with the program");
    let parts = path.split("::").filter(|part| *part != "{{closure}}" && *part != "here");
    parts.collect::<Vec<_>>().join("::")
}
