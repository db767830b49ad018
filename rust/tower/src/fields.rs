//! The fields of an answer, as draft-ietf-httpapi-ratelimit-headers-10 has them.

use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use libdlock::{Decision, Rate};

pub(crate) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(crate) const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// An integer of structured fields (RFC 9651) has at most 15 digits.
const LARGEST: u128 = 999_999_999_999_999;

/// What the fields of one limiter begin with.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// Of each rate, quoted.
    names: Vec<String>,
    /// Of each rate.
    limits: Vec<u64>,
    policy: HeaderValue,
}

impl Fields {
    pub(crate) fn new(name: &str, rates: &[Rate]) -> Fields {
        let names: Vec<String> = match rates {
            [_] => vec![quoted(name)],
            several => (1..=several.len()).map(|number| quoted(&format!("{name}-{number}"))).collect(),
        };
        let entries = names.iter().zip(rates).map(|(name, rate)| {
            let (quota, window) = quota_and_window(rate);
            format!("{name};q={quota};w={window}")
        });
        let policy = value(&entries.collect::<Vec<_>>().join(", "));
        Fields { names, limits: rates.iter().map(Rate::limit).collect(), policy }
    }

    /// Of an answer that nobody decided.
    pub(crate) fn tell_policy(&self, headers: &mut HeaderMap) {
        add(headers, POLICY, &self.policy);
    }

    /// Of an answer after a decision.
    pub(crate) fn tell(&self, decided: Decided, headers: &mut HeaderMap) {
        self.tell_policy(headers);
        if decided.by_server {
            add(headers, LIMIT, &value(&self.limit(&decided)));
        }
        if let (false, Some(retry_after)) = (decided.allowed, decided.retry_after)
            && !headers.contains_key(RETRY_AFTER)
        {
            headers.insert(RETRY_AFTER, seconds(retry_after).max(1).into());
        }
    }

    fn limit(&self, decided: &Decided) -> String {
        let refused_by = decided.refused_by.and_then(|rate| usize::try_from(rate).ok());
        let rate = refused_by.or_else(|| self.limits.iter().position(|limit| *limit == decided.limit));
        let name = rate.and_then(|rate| self.names.get(rate)).or(self.names.first()).map_or("\"\"", String::as_str);
        match self.names.len() {
            1 => format!("{name};r={};t={}", decided.remaining, seconds(decided.reset_after)),
            _ => format!("{name};r={}", decided.remaining),
        }
    }
}

/// What the fields tell of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    allowed: bool,
    remaining: u64,
    limit: u64,
    retry_after: Option<Duration>,
    reset_after: Duration,
    refused_by: Option<u64>,
    /// And not by a policy, which does not know how things stand.
    by_server: bool,
}

impl From<&Decision> for Decided {
    fn from(decision: &Decision) -> Decided {
        let Decision { allowed, remaining, limit, retry_after, reset_after, refused_by, server_time, .. } = *decision;
        Decided { allowed, remaining, limit, retry_after, reset_after, refused_by, by_server: server_time.is_some() }
    }
}

/// Rounded up.
pub(crate) fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// How many tokens the rate brings in so many whole seconds.
fn quota_and_window(rate: &Rate) -> (u128, u64) {
    let window = seconds(rate.per());
    let quota = u128::from(rate.tokens()) * u128::from(window) * 1_000_000 / rate.per().as_micros().max(1);
    (quota.min(LARGEST), window)
}

/// A string of structured fields, which are printable ASCII.
fn quoted(name: &str) -> String {
    let mut quoted = String::from('"');
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b'%' | 0..=0x1f | 0x7f.. => quoted.push_str(&format!("%{byte:02X}")),
            _ => quoted.push(char::from(byte)),
        }
    }
    quoted.push('"');
    quoted
}

fn value(text: &str) -> HeaderValue {
    // Never: it is printable ASCII.
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Adds to what the handler or an outer limiter has, in one line.
fn add(headers: &mut HeaderMap, field: HeaderName, ours: &HeaderValue) {
    let before: Vec<&[u8]> = headers.get_all(&field).iter().map(HeaderValue::as_bytes).collect();
    let all = [&before[..], &[ours.as_bytes()]].concat().join(&b", "[..]);
    let all = HeaderValue::from_bytes(&all).unwrap_or_else(|_| ours.clone());
    headers.insert(field, all);
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn us(value: &Value) -> Duration {
        Duration::from_micros(value.as_u64().expect("a number"))
    }

    fn rate(value: &Value) -> Rate {
        let rate = Rate::new(value["tokens"].as_u64().expect("a number"), us(&value["per_us"]));
        value["burst"].as_u64().map_or(rate, |burst| rate.burst(burst))
    }

    fn decided(value: &Value) -> Decided {
        let number = |field: &str| value[field].as_u64();
        Decided {
            allowed: value["allowed"].as_bool().expect("a flag"),
            remaining: number("remaining").expect("a number"),
            limit: number("limit").expect("a number"),
            retry_after: number("retry_after_us").map(Duration::from_micros),
            reset_after: us(&value["reset_after_us"]),
            refused_by: number("refused_by"),
            by_server: number("server_time_us").is_some(),
        }
    }

    #[test]
    fn fields_are_as_in_every_language() {
        let vectors: Value = serde_json::from_str(include_str!("../../../tests/vectors/http.json")).expect("JSON");
        for vector in vectors["vectors"].as_array().expect("a list") {
            let rates: Vec<Rate> = vector["rates"].as_array().expect("a list").iter().map(rate).collect();
            let mut headers = HeaderMap::new();
            let fields = Fields::new(vector["name"].as_str().expect("a text"), &rates);
            fields.tell(decided(&vector["decision"]), &mut headers);
            let said = |field: HeaderName| headers.get(field).map(|value| value.to_str().expect("ASCII"));
            assert_eq!(said(POLICY), vector["policy"].as_str(), "{vector}");
            assert_eq!(said(LIMIT), vector["limit"].as_str(), "{vector}");
            assert_eq!(said(RETRY_AFTER), vector["retry_after"].as_str(), "{vector}");
        }
    }

    #[test]
    fn what_the_handler_says_stays() {
        let mut headers = HeaderMap::new();
        headers.append(POLICY, HeaderValue::from_static("\"outer\";q=5;w=1"));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("120"));
        let refused = Decided {
            allowed: false,
            remaining: 0,
            limit: 10,
            retry_after: Some(Duration::from_secs(3)),
            reset_after: Duration::ZERO,
            refused_by: Some(0),
            by_server: true,
        };
        Fields::new("api", &[Rate::new(10, Duration::from_secs(1))]).tell(refused, &mut headers);
        assert_eq!(headers[POLICY], "\"outer\";q=5;w=1, \"api\";q=10;w=1");
        assert_eq!(headers[RETRY_AFTER], "120");
        assert_eq!(headers.get_all(POLICY).iter().count(), 1);
    }
}
