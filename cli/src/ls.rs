//! `dlock ls` and `dlock inspect`: which objects there are, and how each stands.

use libdlock::survey::{Found, Kind};
use libdlock::{Client, ErrorKind};
use serde_json::json;

use crate::args::{InspectArgs, LsArgs, ServerArgs};
use crate::connection::connect;
use crate::details::{ABSENT, Details, HEADINGS, is_of_one};
use crate::exit::{self, Failure, millis};
use crate::out::{Out, say, table, visible, waiter};

/// The most waiters that are shown.
const WAITERS: usize = 20;

/// Locks that are read in one round trip.
const AT_ONCE: usize = 200;

/// How many keys are looked at for an object that could not be found by its name.
const VISIT: u64 = 100_000;

pub async fn ls(server: &ServerArgs, args: &LsArgs, out: &Out) -> Result<u8, Failure> {
    let client = connect(server).await?;
    // What nobody uses is found as well, and does not count unless it is asked for.
    let found = usize::try_from(args.visit).unwrap_or(usize::MAX);
    let listing = client.survey().list(&args.pattern, found, args.visit).await?;
    let found: Vec<_> =
        listing.objects.into_iter().filter(|found| args.kind.is_none_or(|kind| kind == found.kind)).collect();
    let mut objects = Vec::new();
    for found in found.chunks(AT_ONCE) {
        let read = read(&client, found).await?;
        objects.extend(read.into_iter().filter(|details| args.all || details.in_use));
        if objects.len() > args.most {
            break;
        }
    }
    let is_complete = listing.is_complete && objects.len() <= args.most;
    objects.truncate(args.most);
    client.close().await;
    if out.json {
        let all: Vec<_> = objects.iter().map(Details::to_json).collect();
        out.document(&json!({ "objects": all, "complete": is_complete }))?;
        return Ok(0);
    }
    if !objects.is_empty() {
        let rows: Vec<_> = objects.iter().map(Details::row).collect();
        out.bytes(table(&HEADINGS, &rows).as_bytes())?;
    }
    if !is_complete {
        say("there may be more; --visit and --most set how far to look");
    }
    Ok(0)
}

/// Reads these objects, of which one may be unreadable and others not.
async fn read(client: &Client, found: &[Found]) -> Result<Vec<Details>, Failure> {
    let locks: Vec<_> =
        found.iter().filter(|found| found.kind == Kind::Lock).map(|found| found.name.as_str()).collect();
    let mut seen = match client.survey().glance(&locks).await {
        Ok(glance) => glance.locks.into_iter(),
        // Of several independent servers none has the whole truth: each lock is read by itself.
        Err(error) if error.kind() == ErrorKind::Unsupported => Vec::new().into_iter(),
        Err(error) => return Err(error.into()),
    };
    let mut all = Vec::with_capacity(found.len());
    for Found { name, kind, .. } in found {
        let seen = if *kind == Kind::Lock { seen.next() } else { None };
        let details = match seen {
            Some(seen) => seen.map(|seen| Details::of_seen(name, seen)),
            None => Details::read(client, *kind, name).await,
        };
        all.push(match details {
            Ok(details) => details,
            Err(error) if is_of_one(&error) => Details::unreadable(*kind, name, &error),
            Err(error) => return Err(error.into()),
        });
    }
    Ok(all)
}

pub async fn inspect(server: &ServerArgs, args: &InspectArgs, out: &Out) -> Result<u8, Failure> {
    let client = connect(server).await?;
    let objects = match args.kind {
        Some(kind) => vec![Details::read(&client, kind, &args.name).await?],
        None => of_any_kind(&client, &args.name).await?,
    };
    let mut documents = Vec::new();
    for (number, details) in objects.iter().enumerate() {
        let waiters = client.survey().waiters(details.kind, &details.name, WAITERS).await?;
        if out.json {
            let mut document = details.to_json();
            document["waiters"] = waiters.iter().map(|waiter| &*waiter.client).collect();
            document["waited_ms"] = waiters.iter().map(|waiter| millis(waiter.waited)).collect();
            documents.push(document);
            continue;
        }
        let mut lines = details.lines();
        lines.insert(0, ("name".to_owned(), visible(&details.name)));
        lines.extend(waiters.iter().map(|waits| ("waits".to_owned(), waiter(&waits.client, waits.waited))));
        let widest = lines.iter().map(|(field, _)| field.len()).max().unwrap_or(0);
        let text: String = lines.iter().map(|(field, value)| format!("{field:<widest$}  {value}\n")).collect();
        out.bytes(format!("{}{text}", if number == 0 { "" } else { "\n" }).as_bytes())?;
    }
    client.close().await;
    if out.json {
        out.document(&json!({ "objects": documents }))?;
    }
    // One that is free is an answer, too.
    if objects.iter().any(|details| details.state != ABSENT) {
        return Ok(0);
    }
    if objects.is_empty() {
        say(&format!(
            "the server has nothing called {}; a latch and a counting semaphore are shown with --kind",
            visible(&args.name)
        ));
    }
    Ok(exit::NO)
}

/// Those of this name that can be told from their keys. Looks through all keys only when there is none to be had by the name.
async fn of_any_kind(client: &Client, name: &str) -> Result<Vec<Details>, Failure> {
    let mut found = Vec::new();
    for kind in [Kind::Lock, Kind::RwLock, Kind::Queue] {
        match Details::read(client, kind, name).await {
            Ok(details) if details.in_use => found.push(details),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WrongType => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let pattern: String =
        name.chars().flat_map(|letter| "*?[]\\".contains(letter).then_some('\\').into_iter().chain([letter])).collect();
    for Found { name, kind, .. } in client.survey().list(&pattern, WAITERS, VISIT).await?.objects {
        match Details::read(client, kind, &name).await {
            Ok(details) => found.push(details),
            Err(error) if is_of_one(&error) => found.push(Details::unreadable(kind, &name, &error)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}
