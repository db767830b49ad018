//! A command that dies with `dlock`: a step between `dlock` and the command, in the process that becomes the command.
//!
//! `dlock` starts itself once more with [`MARK`] in front. That process asks the kernel to be killed when its parent ends
//! (`PR_SET_PDEATHSIG`), makes sure that the parent is still there, and becomes the command. A child could only ask for that
//! between fork and exec, which takes unsafe code. The kernel means the *thread* that started the process: the main thread
//! starts it, which lasts as long as `dlock` does.
//!
//! Only Linux has that. Elsewhere a command outlives a `dlock` that is killed by `kill -9`, while its lock's lease runs out.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, getpid, getppid};
#[cfg(target_os = "linux")]
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::exit;
use crate::out::{say, visible};

/// What stands first among the arguments; then follow the parent's process id, and the command.
const MARK: &str = "--become-the-command-of";

/// How to start a command so that it dies with this process.
pub fn command(words: &[OsString]) -> Command {
    // On Linux it is the same program also when the file was replaced meanwhile.
    let own = if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { env::current_exe() };
    let mut command = Command::new(own.unwrap_or_else(|_| PathBuf::from("dlock")));
    command.arg0("dlock").arg(MARK).arg(getpid().as_raw_nonzero().to_string()).args(words);
    command
}

/// In a process that [`command`] has started: becomes the command, or says why not, with the code to exit with. `None` in any
/// other process.
pub fn become_command() -> Option<u8> {
    let mut words = env::args_os().skip(1);
    if words.next()? != MARK {
        return None;
    }
    let parent = words.next().and_then(|word| word.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let program = words.next()?;
    #[cfg(target_os = "linux")]
    let is_bound = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    #[cfg(not(target_os = "linux"))]
    let is_bound = true;
    // It may have ended before it was asked.
    if !is_bound || parent.is_none() || getppid() != parent {
        return Some(exit::FAILED);
    }
    let error = Command::new(&program).args(words).exec();
    say(&format!("cannot run {}: {error}", visible(&program.to_string_lossy())));
    Some(if error.kind() == std::io::ErrorKind::NotFound { exit::NOT_FOUND } else { exit::CANNOT_RUN })
}
