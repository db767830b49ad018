//! `dlock release`: frees a lock whoever holds it.

use std::io::{self, BufRead, IsTerminal, Write};

use libdlock::Client;
use libdlock::survey::Kind;
use serde_json::json;

use crate::args::{ReleaseArgs, ServerArgs};
use crate::connection::connect;
use crate::details::Details;
use crate::duration;
use crate::exit::{self, Failure};
use crate::out::{Out, say, visible};

pub async fn release(server: &ServerArgs, args: &ReleaseArgs, out: &Out) -> Result<u8, Failure> {
    let client = connect(server).await?;
    let kind = if args.rw { Kind::RwLock } else { Kind::Lock };
    if !args.yes && io::stdin().is_terminal() {
        let details = Details::read(&client, kind, &args.name).await?;
        if details.in_use && !is_meant(&details)? {
            say("nothing was released");
            return Ok(exit::NO);
        }
    }
    let released = force(&client, kind, &args.name).await?;
    client.close().await;
    match (out.json, released) {
        (true, _) => out.document(&json!({ "name": args.name, "kind": kind.as_str(), "released": released }))?,
        (false, true) => out.line(&format!("released {}", visible(&args.name)))?,
        (false, false) => say(&format!("nobody held {}", visible(&args.name))),
    }
    Ok(if released { 0 } else { exit::NO })
}

/// Frees a read-write lock, or else a lock, whoever holds it.
pub async fn force(client: &Client, kind: Kind, name: &str) -> Result<bool, libdlock::Error> {
    match kind {
        Kind::RwLock => client.rw_lock(name)?.force_release().await,
        _ => client.lock(name)?.force_release().await,
    }
}

/// Asks on the terminal, which is neither standard output nor what a script reads.
fn is_meant(details: &Details) -> Result<bool, Failure> {
    let left =
        details.left.map_or(String::new(), |left| format!(", whose lease lasts another {}", duration::show(left)));
    let question = format!(
        "{} is held by {}{left}. Its work may go on after this, beside that of the next holder.\nRelease it? [y/N] ",
        visible(&details.name),
        visible(&details.what)
    );
    let mut stderr = io::stderr().lock();
    stderr.write_all(question.as_bytes())?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
