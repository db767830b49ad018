//! What is looked for in the facts about a server.

use std::collections::BTreeMap;
use std::time::Duration;

use libdlock::survey::ServerFacts;
use serde_json::{Value, json};

use crate::out::visible;

/// A clock that a time daemon keeps is off by milliseconds.
const CLOCK_OFF: i64 = 1_000_000;

/// A server in the same place is a tenth as far away.
const FAR: Duration = Duration::from_millis(20);

/// In percent of the limit.
const NEARLY_FULL: u64 = 90;

/// A replica that has not said anything for so many seconds hangs, or its link does.
const LAGGING: u64 = 10;

/// The client sends a PING on an idle connection every 5 s.
const SHORT_TIMEOUT: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ok,
    Look,
    /// It could not be found out.
    Unknown,
}

/// What one check has found.
#[derive(Debug)]
pub struct Finding {
    check: &'static str,
    server: String,
    pub verdict: Verdict,
    /// What is so.
    what: String,
    /// Why that matters, and what to do.
    advice: Option<&'static str>,
}

impl Finding {
    pub fn ok(check: &'static str, server: &str, what: impl Into<String>) -> Finding {
        Finding { check, server: server.to_owned(), verdict: Verdict::Ok, what: what.into(), advice: None }
    }

    pub fn look(check: &'static str, server: &str, what: impl Into<String>, advice: &'static str) -> Finding {
        Finding { verdict: Verdict::Look, advice: Some(advice), ..Finding::ok(check, server, what) }
    }

    fn unknown(check: &'static str, server: &str, what: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Unknown, ..Finding::ok(check, server, what) }
    }

    fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Look => "look",
            Verdict::Unknown => "unknown",
        }
    }

    pub fn to_json(&self) -> Value {
        json!({
            "check": self.check, "server": self.server, "result": self.word(), "what": self.what, "advice": self.advice,
        })
    }

    pub fn text(&self, is_coloured: bool) -> String {
        let word = format!("{:<7}", self.word());
        let word = match (is_coloured, self.verdict) {
            (false, _) => word,
            (true, Verdict::Ok) => format!("\u{1b}[32m{word}\u{1b}[0m"),
            (true, Verdict::Look) => format!("\u{1b}[1;33m{word}\u{1b}[0m"),
            (true, Verdict::Unknown) => format!("\u{1b}[2m{word}\u{1b}[0m"),
        };
        let server = if self.server.is_empty() { String::new() } else { format!("{}: ", visible(&self.server)) };
        let advice = self.advice.map_or(String::new(), |advice| format!("        {advice}\n"));
        format!("{word} {:<12} {server}{}\n{advice}", self.check, visible(&self.what))
    }
}

/// What INFO says.
struct Info<'a>(&'a BTreeMap<String, String>);

impl Info<'_> {
    fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    fn number(&self, field: &str) -> Option<u64> {
        self.text(field)?.parse().ok()
    }
}

/// All checks of one server.
pub fn all(facts: &ServerFacts, requires_replicas: bool) -> Vec<Finding> {
    let at = facts.address.as_str();
    let fields = match &facts.info {
        Ok(fields) => fields,
        Err(error) => {
            let advice =
                "without +info a client cannot tell a restarted server from a deleted key; allow it: dlock acl";
            return vec![Finding::look("info", at, error.to_string(), advice), rights(facts)];
        }
    };
    let info = Info(fields);
    let mut findings = vec![
        version(&info, at),
        role(&info, at),
        eviction(&info, at),
        memory(&info, at),
        persistence(&info, facts),
        writes(&info, at),
        replicas(&info, at, requires_replicas),
        clients(&info, at),
        timeout(facts),
        clock(facts),
        round_trip(facts),
        rights(facts),
    ];
    // A replica of nothing to say about its replicas.
    findings.retain(|finding| !finding.what.is_empty());
    findings
}

fn version(info: &Info<'_>, at: &str) -> Finding {
    const CHECK: &str = "version";
    let (product, version, least) = match (info.text("valkey_version"), info.text("redis_version")) {
        (Some(version), _) => ("Valkey", version, (7, 2)),
        (None, Some(version)) => ("Redis", version, (6, 2)),
        (None, None) => return Finding::unknown(CHECK, at, "the server does not tell its version"),
    };
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let what = format!("{product} {version}");
    match found >= least {
        true => Finding::ok(CHECK, at, what),
        false => Finding::look(CHECK, at, what, "too old: libdlock needs Redis 6.2 or Valkey 7.2, or later"),
    }
}

fn role(info: &Info<'_>, at: &str) -> Finding {
    const CHECK: &str = "role";
    match info.text("role") {
        Some("master") => Finding::ok(CHECK, at, "primary"),
        Some(_) => {
            let advice =
                "a replica takes no lock; connect to its primary, or write redis+sentinel:// to follow failovers";
            Finding::look(CHECK, at, format!("replica of {}", info.text("master_host").unwrap_or("another")), advice)
        }
        None => Finding::unknown(CHECK, at, "the server does not tell whether it is a primary"),
    }
}

fn eviction(info: &Info<'_>, at: &str) -> Finding {
    const CHECK: &str = "eviction";
    match info.text("maxmemory_policy") {
        Some("noeviction") => Finding::ok(CHECK, at, "noeviction"),
        Some(policy) => {
            let advice = "under memory pressure held locks are evicted, and then a lock has two holders; set maxmemory-policy noeviction";
            Finding::look(CHECK, at, policy, advice)
        }
        None => Finding::unknown(CHECK, at, "the server does not tell its maxmemory-policy"),
    }
}

fn memory(info: &Info<'_>, at: &str) -> Finding {
    const CHECK: &str = "memory";
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    match (info.number("used_memory"), info.number("maxmemory")) {
        (Some(used), None | Some(0)) => Finding::ok(CHECK, at, format!("{} used, no limit", megabytes(used))),
        (Some(used), Some(limit)) => {
            let what = format!("{} of {} used", megabytes(used), megabytes(limit));
            match used.saturating_mul(100) >= limit.saturating_mul(NEARLY_FULL) {
                true => Finding::look(
                    CHECK,
                    at,
                    what,
                    "a full server grants no lock; raise maxmemory, or find what fills it",
                ),
                false => Finding::ok(CHECK, at, what),
            }
        }
        (None, _) => Finding::unknown(CHECK, at, "the server does not tell how much it uses"),
    }
}

fn persistence(info: &Info<'_>, facts: &ServerFacts) -> Finding {
    const CHECK: &str = "persistence";
    let at = facts.address.as_str();
    if info.number("aof_enabled") == Some(1) {
        return Finding::ok(CHECK, at, "append-only file");
    }
    match facts.settings.get("save").map(String::as_str) {
        Some("") => {
            let advice =
                "a restart forgets all locks, tokens, limits and jobs, while holders go on; set appendonly yes";
            Finding::look(CHECK, at, "neither an append-only file nor snapshots", advice)
        }
        Some(save) => {
            let advice = "a restart forgets what came after the last snapshot, held locks among it; set appendonly yes";
            Finding::look(CHECK, at, format!("snapshots alone (save {save})"), advice)
        }
        None => {
            let advice =
                "a restart forgets locks and jobs, all or the latest of them, while holders go on; set appendonly yes";
            Finding::look(CHECK, at, "no append-only file", advice)
        }
    }
}

fn writes(info: &Info<'_>, at: &str) -> Finding {
    const CHECK: &str = "disk";
    let failed = |field: &str| info.text(field).is_some_and(|status| status != "ok");
    match (failed("rdb_last_bgsave_status"), failed("aof_last_write_status")) {
        (false, false) => Finding::ok(CHECK, at, "the last snapshot and write succeeded"),
        (snapshot, _) => {
            let what =
                if snapshot { "the last snapshot failed" } else { "the last write of the append-only file failed" };
            let advice = "the server may refuse every lock (MISCONF) until it can write; see its log for the reason";
            Finding::look(CHECK, at, what, advice)
        }
    }
}

fn replicas(info: &Info<'_>, at: &str, requires_replicas: bool) -> Finding {
    const CHECK: &str = "replicas";
    if info.text("role") != Some("master") {
        let link = info.text("master_link_status") == Some("down");
        return match link {
            true => Finding::look(CHECK, at, "its link to the primary is down", "what it has grows old; see its log"),
            false => Finding::ok(CHECK, at, ""),
        };
    }
    let count = info.number("connected_slaves").unwrap_or(0);
    let states = (0..count).filter_map(|number| info.text(&format!("slave{number}")));
    let field = |state: &str, name: &str| {
        state.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    let lags = |state: &&str| {
        let lag = field(state, "lag").and_then(|lag| lag.parse::<u64>().ok()).unwrap_or(0);
        field(state, "state").is_none_or(|state| state != "online") || lag > LAGGING
    };
    let lagging = states.filter(lags).count();
    if lagging > 0 {
        let advice = "if the primary fails now, such a replica lacks locks that are held; see its log and the network";
        return Finding::look(CHECK, at, format!("{lagging} of {count} lag behind"), advice);
    }
    match (count, requires_replicas) {
        (0, true) => {
            let advice =
                "the option replicas is set: no lock will be granted; start a replica, or leave the option out";
            Finding::look(CHECK, at, "none", advice)
        }
        (0, false) => Finding::ok(CHECK, at, "none"),
        (count, true) => Finding::ok(CHECK, at, format!("{count}, and grants wait for them")),
        (count, false) => {
            let advice =
                "a failover can lose grants that no replica has yet; set the option replicas=1 to wait for one";
            Finding::look(CHECK, at, format!("{count}, and grants do not wait for them"), advice)
        }
    }
}

fn clients(info: &Info<'_>, at: &str) -> Finding {
    const CHECK: &str = "clients";
    match (info.number("connected_clients"), info.number("maxclients")) {
        (Some(clients), Some(most)) => {
            let what = format!("{clients} of {most}");
            match clients.saturating_mul(100) >= most.saturating_mul(NEARLY_FULL) {
                true => Finding::look(CHECK, at, what, "further programs will be refused; raise maxclients"),
                false => Finding::ok(CHECK, at, what),
            }
        }
        (Some(clients), None) => Finding::ok(CHECK, at, clients.to_string()),
        (None, _) => Finding::unknown(CHECK, at, "the server does not tell how many there are"),
    }
}

fn timeout(facts: &ServerFacts) -> Finding {
    const CHECK: &str = "timeout";
    let at = facts.address.as_str();
    match facts.settings.get("timeout").and_then(|seconds| seconds.parse().ok()) {
        None => Finding::unknown(CHECK, at, "the user may not read the setting (CONFIG GET)"),
        Some(0) => Finding::ok(CHECK, at, "idle connections stay open"),
        Some(seconds) if seconds < SHORT_TIMEOUT => {
            let advice =
                "connections are closed between two of the client's PINGs, every 5 s; set timeout 0, or 60 or more";
            Finding::look(CHECK, at, format!("idle connections are closed after {seconds} s"), advice)
        }
        Some(seconds) => Finding::ok(CHECK, at, format!("idle connections are closed after {seconds} s")),
    }
}

fn clock(facts: &ServerFacts) -> Finding {
    const CHECK: &str = "clock";
    let at = facts.address.as_str();
    let Some(ahead) = facts.clock_ahead_us else {
        return Finding::unknown(CHECK, at, "the server does not tell the time");
    };
    let off = show(Duration::from_micros(ahead.unsigned_abs()));
    let what = format!("{off} {} this machine's", if ahead < 0 { "behind" } else { "ahead of" });
    match ahead.unsigned_abs() > CLOCK_OFF.unsigned_abs() {
        true => {
            let advice =
                "when it is set right, leases end sooner or later than they should; run a time daemon on both machines";
            Finding::look(CHECK, at, what, advice)
        }
        false => Finding::ok(CHECK, at, what),
    }
}

fn round_trip(facts: &ServerFacts) -> Finding {
    const CHECK: &str = "round trip";
    let at = facts.address.as_str();
    match facts.round_trip {
        None => Finding::unknown(CHECK, at, "the server does not tell the time"),
        Some(trip) if trip > FAR => {
            let advice =
                "each lock takes at least one; run the program near the server, or hold locks for longer at a time";
            Finding::look(CHECK, at, show(trip), advice)
        }
        Some(trip) => Finding::ok(CHECK, at, show(trip)),
    }
}

fn rights(facts: &ServerFacts) -> Finding {
    const CHECK: &str = "rights";
    let at = facts.address.as_str();
    if facts.missing_rules.is_empty() {
        return Finding::ok(CHECK, at, "nothing is missing");
    }
    let what = format!("the user lacks {}", facts.missing_rules.join(" "));
    Finding::look(
        CHECK,
        at,
        what,
        "calls that need them fail; `dlock acl` prints the whole rule; --kind narrows it down",
    )
}

/// Also of less than a millisecond.
pub fn show(time: Duration) -> String {
    match time.as_micros() {
        micros @ ..1_000 => format!("{micros}us"),
        micros @ ..10_000 => format!("{:.1}ms", micros as f64 / 1_000.0),
        _ => crate::duration::show(time),
    }
}
