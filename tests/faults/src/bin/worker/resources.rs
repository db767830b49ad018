//! What locks guard: `write REGISTER TOKEN VALUE`, `add COUNTER`, `add-when-told COUNTER`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use libdlock_testkit::eventually;
use libdlock_testkit::resource::{Counter, Register};

use crate::words::{Failure, number};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(words: &[&str]) -> Result<Option<String>, Failure> {
    match *words {
        ["write", register, token, value] => {
            let written = Register::open(Path::new(register)).write(number(token) as u64, value);
            written.map_err(|refused| ("REFUSED".to_owned(), refused.highest.to_string()))?;
        }
        ["add", counter] => {
            Counter::open(Path::new(counter)).add_one(|| ());
        }
        ["add-when-told", counter] => {
            let path = PathBuf::from(counter);
            let adding = tokio::task::spawn_blocking(move || Counter::open(&path).add_one(|| wait_to_be_told(&path)));
            adding.await.expect("adding does not panic");
        }
        _ => return Ok(None),
    }
    Ok(Some(String::new()))
}

/// Says that the counter was read (`COUNTER.read` appears) and waits for the word to write (`COUNTER.go`).
fn wait_to_be_told(counter: &Path) {
    std::fs::write(counter.with_extension("read"), "").expect("write the mark");
    eventually(Duration::from_secs(20), "told to go on", || counter.with_extension("go").exists());
}
