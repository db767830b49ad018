//! How a worker talks with the driver: `ready`, a line that starts it, a line of JSON, the end of its input.

use std::io::{self, BufRead, Read, Write};

/// Says that all is warm, and returns when the driver says go.
pub fn ready() -> io::Result<()> {
    say("ready")?;
    io::stdin().lock().read_line(&mut String::new()).map(drop)
}

/// Gives the result, and returns when the driver has read what it wants to know of this process.
pub fn answer(json: &str) -> io::Result<()> {
    say(json)?;
    io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)
}

fn say(line: &str) -> io::Result<()> {
    println!("{line}");
    io::stdout().flush()
}
