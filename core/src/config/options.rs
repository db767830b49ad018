//! The table of options: the only place that knows an option's name, unit, bounds and default.

use std::fmt;
use std::time::Duration;

use super::{MAX_LEASE, MIN_LEASE, invalid};
use crate::error::{Error, Result};

/// A client's options, checked. The defaults stand in `tests/vectors/options.json` too, which every language checks.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// For TCP, handshake and authentication together. 5 s: longer than a lost SYN's first two repeats.
    pub connect_timeout: Duration,
    /// One attempt at one request. 1 s: long for a script of microseconds, short against a lease.
    pub response_timeout: Duration,
    /// A call that does not wait, its retries included.
    pub operation_timeout: Duration,
    /// The watchdog's lease. 30 s is Redisson's; it is renewed at a third.
    pub lease: Duration,
    /// How often the first two of the queue look by themselves, in case a message was lost, and whoever saw the lock free and not
    /// its own. 1 s bounds a lost wake-up.
    pub poll_interval: Duration,
    /// How often those behind them do. 5 s: they wait for others anyway.
    pub queue_poll_interval: Duration,
    /// How long a connection may be idle before it is tried with a PING.
    pub ping_interval: Duration,
    /// How long a lock's token key outlives its last acquire; `None` keeps it for ever, as Redisson's fenced lock does.
    pub token_ttl: Option<Duration>,
    /// Whether a holder may take its own lock again.
    pub reentrant: bool,
    /// Whether each release goes to the head of the queue, a waiter of this process has no advantage.
    pub strict_fifo: bool,
    /// How often a lock may change hands within this process before other processes get their turn; 1 is not at all.
    /// 32: the server's round trip then hardly counts any more.
    pub cohort_max: u32,
    /// For how long it may, counted from the server's grant. 50 ms: what another process waits longer for that.
    pub cohort_age: Duration,
    /// The most connections on which blocking calls make their round trip themselves; 0 is none.
    pub blocking_connections: u32,
    /// The worker threads of the bindings' runtime. 1: on a small machine it is faster than two.
    pub runtime_threads: u32,
    /// Put before every name (Redisson's NameMapper).
    pub key_prefix: String,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub db: i64,
    /// Shown by the server's `CLIENT LIST`.
    pub client_name: String,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(1),
            operation_timeout: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            poll_interval: Duration::from_secs(1),
            queue_poll_interval: Duration::from_secs(5),
            ping_interval: Duration::from_secs(5),
            token_ttl: Some(Duration::from_secs(3600)),
            reentrant: true,
            strict_fifo: false,
            cohort_max: 32,
            cohort_age: Duration::from_millis(50),
            blocking_connections: 4,
            runtime_threads: 1,
            key_prefix: String::new(),
            user: None,
            password: None,
            db: 0,
            client_name: concat!("libdlock-", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// A password: readable by the code that sends it, by nothing else.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for spec in TABLE {
            map.entry(&spec.name, &(spec.get)(self));
        }
        map.finish()
    }
}

/// One row of the table.
pub(super) struct Spec {
    pub(super) name: &'static str,
    set: fn(&mut Options, &str, &Spec) -> Result<()>,
    /// The present value as text, a password masked.
    pub(super) get: fn(&Options) -> String,
    /// Bounds of a duration in milliseconds, of a whole number in itself.
    pub(super) bounds: Option<(u64, u64)>,
}

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

macro_rules! duration {
    ($field:ident, $min:expr, $max:expr) => {
        Spec {
            name: stringify!($field),
            set: |options, value, spec| spec.duration(value).map(|duration| options.$field = duration),
            get: |options| format!("{}ms", options.$field.as_millis()),
            bounds: Some(($min, $max)),
        }
    };
}

macro_rules! flag {
    ($field:ident) => {
        Spec {
            name: stringify!($field),
            set: |options, value, spec| spec.flag(value).map(|flag| options.$field = flag),
            get: |options| options.$field.to_string(),
            bounds: None,
        }
    };
}

macro_rules! number {
    ($field:ident, $min:expr, $max:expr) => {
        Spec {
            name: stringify!($field),
            // The bounds keep it within the field's type.
            set: |options, value, spec| spec.number(value).map(|number| options.$field = number as _),
            get: |options| options.$field.to_string(),
            bounds: Some(($min, $max)),
        }
    };
}

macro_rules! text {
    ($field:ident) => {
        Spec {
            name: stringify!($field),
            set: |options, value, spec| spec.text(value).map(|text| options.$field = text),
            get: |options| options.$field.clone(),
            bounds: None,
        }
    };
}

pub(super) const TABLE: &[Spec] = &[
    duration!(connect_timeout, 1, DAY),
    duration!(response_timeout, 1, DAY),
    duration!(operation_timeout, 1, DAY),
    duration!(lease, MIN_LEASE.as_millis() as u64, MAX_LEASE.as_millis() as u64),
    duration!(poll_interval, 20, HOUR),
    duration!(queue_poll_interval, 20, HOUR),
    duration!(ping_interval, 100, HOUR),
    Spec {
        name: "token_ttl",
        set: |options, value, spec| {
            options.token_ttl = if value == "none" { None } else { Some(spec.duration(value)?) };
            Ok(())
        },
        get: |options| options.token_ttl.map_or("none".to_owned(), |ttl| format!("{}ms", ttl.as_millis())),
        bounds: Some((1_000, 366 * DAY)),
    },
    flag!(reentrant),
    flag!(strict_fifo),
    number!(cohort_max, 1, 1024),
    duration!(cohort_age, 1, 10_000),
    number!(blocking_connections, 0, 64),
    number!(runtime_threads, 1, 64),
    text!(key_prefix),
    Spec {
        name: "user",
        set: |options, value, spec| spec.text(value).map(|text| options.user = Some(text)),
        get: |options| options.user.clone().unwrap_or_default(),
        bounds: None,
    },
    Spec {
        name: "password",
        set: |options, value, _| {
            options.password = Some(Secret(value.to_owned()));
            Ok(())
        },
        get: |options| options.password.as_ref().map_or(String::new(), |secret| format!("{secret:?}")),
        bounds: None,
    },
    number!(db, 0, 65_535),
    Spec {
        name: "client_name",
        set: |options, value, spec| {
            if let Some(bad) = value.chars().find(|c| !('!'..='~').contains(c)) {
                let allowed = format!("it holds {bad:?}; the server allows printable ASCII without spaces");
                return Err(spec.refuse(value, &allowed));
            }
            options.client_name = value.to_owned();
            Ok(())
        },
        get: |options| options.client_name.clone(),
        bounds: None,
    },
];

impl Options {
    pub(super) fn set(&mut self, option: &str, value: &str) -> Result<()> {
        if let Some(spec) = TABLE.iter().find(|spec| spec.name == option) {
            return (spec.set)(self, value, spec);
        }
        let password = match option {
            "password_env" => std::env::var(value).map_err(|_| {
                invalid(format!("option password_env: the environment has no variable {value:?} with text in it"))
            })?,
            "password_file" => std::fs::read_to_string(value)
                .map_err(|error| invalid(format!("option password_file: cannot read {value:?}: {}", error.kind())))?
                .trim_end_matches(['\r', '\n'])
                .to_owned(),
            _ => {
                let known: Vec<&str> =
                    TABLE.iter().map(|spec| spec.name).chain(["password_env", "password_file"]).collect();
                return Err(invalid(format!("there is no option {option:?}; known are {}", known.join(", "))));
            }
        };
        self.password = Some(Secret(password));
        Ok(())
    }
}

impl Spec {
    fn refuse(&self, value: &str, allowed: &str) -> Error {
        invalid(format!("option {}: {value:?} is not possible; {allowed}", self.name))
    }

    fn text(&self, value: &str) -> Result<String> {
        if value.contains('\0') {
            return Err(self.refuse(value, "NUL is not allowed"));
        }
        Ok(value.to_owned())
    }

    fn flag(&self, value: &str) -> Result<bool> {
        value.parse().map_err(|_| self.refuse(value, "allowed are true and false"))
    }

    fn number(&self, value: &str) -> Result<u64> {
        let (min, max) = self.bounds.unwrap_or((0, u64::MAX));
        let number = value.parse().ok().filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| self.refuse(value, &format!("allowed are whole numbers from {min} to {max}")))
    }

    fn duration(&self, value: &str) -> Result<Duration> {
        let (min, max) = self.bounds.unwrap_or((0, u64::MAX));
        let allowed = format!("allowed is {min} ms to {max} ms, written as 250ms, 5s, 1h or a number of ms");
        let duration = parse_duration(value).ok_or_else(|| self.refuse(value, &allowed))?;
        if duration < Duration::from_millis(min) || duration > Duration::from_millis(max) {
            return Err(self.refuse(value, &allowed));
        }
        Ok(duration)
    }
}

/// `5s`, `250ms`, `1.5h` or a bare number of milliseconds.
fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let millis = match &text[digits.len()..] {
        "us" => 0.001,
        "" | "ms" => 1.0,
        "s" => 1_000.0,
        "m" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    // `f64` would also read "inf", "nan", "1e9" and signs.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * millis / 1_000.0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_vectors() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/options.json")).unwrap();
        let rows = vectors["options"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(names, TABLE.iter().map(|spec| spec.name).collect::<Vec<_>>());
        let defaults = Options::default();
        for (row, spec) in rows.iter().zip(TABLE) {
            let shown = (spec.get)(&defaults);
            match row["type"].as_str().unwrap() {
                "duration" => {
                    assert_eq!(shown, format!("{}ms", row["default"]), "{}", spec.name);
                    let bounds = (row["min"].as_u64().unwrap(), row["max"].as_u64().unwrap());
                    assert_eq!(spec.bounds, Some(bounds), "{}", spec.name);
                }
                "boolean" => assert_eq!(shown, row["default"].to_string()),
                "integer" => {
                    assert_eq!(shown, row["default"].to_string());
                    let bounds = (row["min"].as_u64().unwrap(), row["max"].as_u64().unwrap());
                    assert_eq!(spec.bounds, Some(bounds), "{}", spec.name);
                }
                _ => {
                    let default = row["default"].as_str().unwrap_or("");
                    assert_eq!(shown, default.replace("<version>", env!("CARGO_PKG_VERSION")), "{}", spec.name);
                }
            }
        }
    }

    #[test]
    fn durations_are_read_as_documented_and_bounds_hold() {
        let mut options = Options::default();
        for (text, millis) in [("250ms", 250), ("5s", 5_000), ("1.5h", 5_400_000), ("700", 700), ("2m", 120_000)] {
            options.set("lease", text).unwrap();
            assert_eq!(options.lease, Duration::from_millis(millis));
        }
        for bad in ["", "s", "99", "25h", "-1s", "nan", "inf", "1e3", "5 s", "5d", "1..5s"] {
            let error = options.set("lease", bad).unwrap_err();
            assert!(error.message().contains("100 ms to 86400000 ms"), "{bad}: {error}");
        }
    }

    #[test]
    fn numbers_and_flags_are_read_and_their_bounds_hold() {
        let mut options = Options::default();
        for (option, value) in [("cohort_max", "1"), ("blocking_connections", "64"), ("strict_fifo", "true")] {
            options.set(option, value).unwrap();
        }
        assert_eq!((options.cohort_max, options.blocking_connections, options.strict_fifo), (1, 64, true));
        for (option, bad, allowed) in [
            ("cohort_max", "0", "1 to 1024"),
            ("blocking_connections", "65", "0 to 64"),
            ("runtime_threads", "-1", "1 to 64"),
            ("db", "99999999999999999999", "0 to 65535"),
            ("strict_fifo", "True", "true and false"),
        ] {
            let error = options.set(option, bad).unwrap_err();
            assert!(error.message().contains(option) && error.message().contains(allowed), "{error}");
        }
    }

    #[test]
    fn an_unknown_option_lists_the_known_ones() {
        let error = Options::default().set("leese", "5s").unwrap_err();
        assert!(error.message().contains("\"leese\"") && error.message().contains("lease,"), "{error}");
    }

    #[test]
    fn a_password_is_never_shown() {
        let mut options = Options::default();
        options.set("password", "s3cret").unwrap();
        assert!(!format!("{options:?}").contains("s3cret"));
    }
}
