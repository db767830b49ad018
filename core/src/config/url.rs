//! Reads connection URLs.

use std::path::PathBuf;

use url::{Host, Url};

use super::{Config, Target, invalid};
use crate::error::{Error, Result};

const SCHEMES: &str = "redis://host:port/db, redis+unix:///path/of/socket, memory:// and memory://name";

pub(super) fn parse(text: &str) -> Result<Config> {
    // The text may hold a password: no message repeats it.
    let url = Url::parse(text)
        .map_err(|error| invalid(format!("the URL cannot be read ({error}); allowed are {SCHEMES}")))?;
    if url.fragment().is_some() {
        return Err(invalid("the URL has a part after '#'; write %23 where a password holds that character"));
    }
    let mut config = Config::for_target(target(&url)?);
    if !url.username().is_empty() {
        config.set("user", &decode(url.username())?)?;
    }
    if let Some(password) = url.password() {
        config.set("password", &decode(password)?)?;
    }
    if let ("redis", Some(db)) = (url.scheme(), url.path().strip_prefix('/').filter(|db| !db.is_empty())) {
        config.set("db", &decode(db)?)?;
    }
    for (option, value) in url.query_pairs() {
        config.set(&option, &value)?;
    }
    Ok(config)
}

fn target(url: &Url) -> Result<Target> {
    match url.scheme() {
        "redis" => {
            let host = match url.host() {
                // `url` parses hosts of schemes it does not know as opaque text.
                Some(Host::Domain(host)) if !host.is_empty() => decode(host)?,
                Some(Host::Ipv4(ip)) => ip.to_string(),
                Some(Host::Ipv6(ip)) => ip.to_string(),
                _ => return Err(invalid("the URL names no host; write redis://host:port")),
            };
            Ok(Target::Tcp { host, port: url.port().unwrap_or(6379) })
        }
        "redis+unix" => {
            let path = decode(url.path())?;
            if url.host_str().is_some_and(|host| !host.is_empty()) || path.len() < 2 {
                return Err(invalid("a socket is written with three slashes: redis+unix:///path/of/socket"));
            }
            Ok(Target::Unix(PathBuf::from(path)))
        }
        "memory" => {
            let name = url.host_str().filter(|host| !host.is_empty()).map(decode).transpose()?;
            if !matches!(url.path(), "" | "/") {
                return Err(invalid("a memory URL has no path: write memory:// or memory://name"));
            }
            Ok(Target::Memory(name))
        }
        "rediss" => Err(invalid("rediss:// (TLS) is not yet supported by this version; use redis:// or redis+unix://")),
        other => Err(invalid(format!("the scheme {other:?} is not known; allowed are {SCHEMES}"))),
    }
}

/// Undoes percent-encoding.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escape = tail
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escape {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| -> Error { invalid("a percent-encoded part of the URL is not UTF-8") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::options::Secret;
    use crate::error::ErrorKind;

    #[test]
    fn the_parts_of_a_url_land_where_they_belong() {
        let config = parse("redis://app:p%40ss@cache.local:7000/3?lease=10s&client_name=w1").unwrap();
        assert!(config.target == Target::Tcp { host: "cache.local".into(), port: 7000 });
        assert_eq!(config.options.user.as_deref(), Some("app"));
        assert_eq!(config.options.password, Some(Secret("p@ss".into())));
        assert_eq!((config.options.db, config.options.lease.as_secs()), (3, 10));
        assert_eq!(config.options.client_name, "w1");
    }

    #[test]
    fn hosts_sockets_and_memory() {
        assert_eq!(parse("redis://[::1]").unwrap().target.to_string(), "[::1]:6379");
        assert_eq!(parse("redis://:pw@127.0.0.1").unwrap().options.user, None);
        assert!(parse("redis+unix:///run/redis.sock?db=2").unwrap().target == Target::Unix("/run/redis.sock".into()));
        assert!(parse("memory://").unwrap().target == Target::Memory(None));
        assert!(parse("memory://shared").unwrap().target == Target::Memory(Some("shared".into())));
    }

    #[test]
    fn what_is_refused_says_what_is_allowed_and_hides_the_password() {
        for (url, expected) in [
            ("rediss://:s3cret@h", "not yet"),
            ("http://u:s3cret@h", "redis://"),
            ("redis://:s3cret@h/x", "0 to 65535"),
            ("redis://:s3cret@h:99999", "port"),
            ("redis://", "host"),
            ("redis+unix://sock", "three slashes"),
            ("memory://a/b", "no path"),
            ("redis://:s3#cret@h", "host"),
            ("not a url", "allowed are"),
        ] {
            let error = parse(url).err().unwrap_or_else(|| panic!("{url} was accepted"));
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(expected), "{url}: {error}");
            assert!(!error.to_string().contains("s3"), "{url}: {error}");
        }
    }
}
