//! `dlock doctor`: looks for settings of a server that endanger locks, and says what to do about each.

mod checks;

use std::time::{Duration, Instant};

use libdlock::survey::Kind;
use libdlock::{Client, Error};
use serde_json::json;

use self::checks::{Finding, Verdict};
use crate::args::{DoctorArgs, ServerArgs};
use crate::connection::{option, quiet_config};
use crate::exit::{self, Failure};
use crate::out::{Out, is_coloured};

/// The lock that is taken and released, with the process id behind it.
const PROBE: &str = "dlock-doctor";

pub async fn doctor(server: &ServerArgs, args: &DoctorArgs, out: &Out) -> Result<u8, Failure> {
    let config = quiet_config(server)?;
    let requires_replicas = option(server, "replicas")?.is_some_and(|replicas| replicas != "0");
    let findings = match Client::connect_with(config).await {
        Err(error) => vec![of_connection(&error)],
        Ok(client) => {
            let kinds = if args.kind.is_empty() { &Kind::ALL[..] } else { &args.kind[..] };
            let mut findings = Vec::new();
            for facts in client.survey().facts(kinds).await? {
                findings.extend(checks::all(&facts, requires_replicas));
            }
            // A user with the rights for other kinds alone is right to have none for this one.
            if kinds.contains(&Kind::Lock) {
                findings.push(probe(&client).await);
            }
            client.close().await;
            findings
        }
    };
    let is_well = findings.iter().all(|finding| finding.verdict != Verdict::Look);
    if out.json {
        let all: Vec<_> = findings.iter().map(Finding::to_json).collect();
        out.document(&json!({ "ok": is_well, "checks": all }))?;
    } else {
        let is_coloured = is_coloured();
        let text: String = findings.iter().map(|finding| finding.text(is_coloured)).collect();
        out.bytes(text.as_bytes())?;
    }
    Ok(if is_well { 0 } else { exit::NO })
}

fn of_connection(error: &Error) -> Finding {
    let advice = "nothing else could be looked at; check the address, the password and that the server runs";
    Finding::look("connection", "", error.to_string(), advice)
}

/// Takes a lock as a program would.
async fn probe(client: &Client) -> Finding {
    const CHECK: &str = "lock";
    let name = format!("{PROBE}-{}", std::process::id());
    let began = Instant::now();
    let done = async {
        let held = client.lock(&name)?.acquire_timeout(Duration::from_secs(5)).await?;
        held.release().await
    };
    match done.await {
        Ok(()) => Finding::ok(CHECK, "", format!("taken and released in {}", checks::show(began.elapsed()))),
        Err(error) => {
            let advice = "programs get the same error; the other checks may say why";
            Finding::look(CHECK, "", error.to_string(), advice)
        }
    }
}
