//! Reads connection URLs.
//!
//! By hand and not by a general parser: that one takes `redis://:12/34@host` for port 12 of no host and the path `34@host`, and
//! then a message about the path shows half of a password. Here no message repeats anything of a URL but the scheme, the names
//! and values of options, and what stands behind the last `@`.

use std::net::Ipv6Addr;
use std::path::PathBuf;

use super::{Address, Config, Nodes, Sentinels, Servers, Target, invalid, names, refused};
use crate::error::{Error, ErrorKind, Result};

const SCHEMES: &str = "redis://host:port/db, rediss://host:port/db for TLS (also valkey, valkeys), unix:///path/of/socket (also \
                       redis+unix, valkey+unix), redis+sentinel://host:port,host:port/master/db (also rediss+sentinel, \
                       valkey+sentinel, valkeys+sentinel), redis+cluster://host:port,host:port (also rediss+cluster, \
                       valkey+cluster, valkeys+cluster), redis+quorum://host:port,host:port,host:port (also \
                       rediss+quorum, valkey+quorum, valkeys+quorum), memory:// and memory://name";

const MEMORY: &str = "memory:// and memory://name";

const SENTINELS: &str = "redis+sentinel://host:port,host:port/master and .../master/db";

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// Far more than anybody runs for one master.
const MOST_SENTINELS: usize = 32;

/// A client needs one of them that answers.
const MOST_NODES: usize = 32;

/// Each request goes to all of them.
const MOST_SERVERS: usize = 15;

/// A URL taken apart, nothing decoded.
struct Parts<'a> {
    /// Before the last `@` of the authority.
    login: Option<&'a str>,
    host: &'a str,
    /// From the first slash on.
    path: &'a str,
    query: &'a str,
}

pub(super) fn parse(text: &str) -> Result<Config> {
    // A line end often comes along with a URL from a file.
    let text = text.trim_ascii();
    let is_scheme = |scheme: &str| scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
        return Err(refused("the URL cannot be read", SCHEMES));
    };
    if rest.contains(char::is_control) {
        return Err(invalid("the URL holds a control character; write it percent-encoded, a line feed as %0A"));
    }
    if rest.contains('#') {
        return Err(invalid("the URL holds a '#'; write %23 where a password holds that character"));
    }
    let parts = split(rest)?;
    let (target, db) = match scheme.to_ascii_lowercase().as_str() {
        scheme @ ("redis" | "valkey" | "rediss" | "valkeys") => {
            let (address, tls) = (address(parts.host, PORT)?, is_tls(scheme)?);
            (Target::Tcp { address, tls }, parts.path.strip_prefix('/'))
        }
        "unix" | "redis+unix" | "valkey+unix" => {
            let path = decode(parts.path)?;
            if !parts.host.is_empty() || path.len() < 2 {
                return Err(refused("a socket is written with three slashes", "unix:///path/of/socket"));
            }
            if cfg!(windows) {
                return Err(refused("libdlock has no Unix-domain sockets on Windows", "redis://host:port"));
            }
            (Target::Unix(PathBuf::from(path)), None)
        }
        scheme @ ("redis+sentinel" | "valkey+sentinel" | "rediss+sentinel" | "valkeys+sentinel") => {
            let ((sentinels, db), tls) = (sentinels(&parts)?, is_tls(scheme)?);
            (Target::Master { sentinels, tls }, db)
        }
        scheme @ ("redis+cluster" | "valkey+cluster" | "rediss+cluster" | "valkeys+cluster") => {
            let tls = is_tls(scheme)?;
            let addresses = addresses(parts.host, PORT, MOST_NODES, "nodes")?;
            (Target::Cluster(Nodes { addresses, tls }), parts.path.strip_prefix('/'))
        }
        scheme @ ("redis+quorum" | "valkey+quorum" | "rediss+quorum" | "valkeys+quorum") => {
            let tls = is_tls(scheme)?;
            let addresses = addresses(parts.host, PORT, MOST_SERVERS, "servers")?;
            if addresses.len() == 1 {
                let what = "the URL names one server, which needs no quorum; for one server write redis://host:port";
                return Err(refused(what, "several independent servers, an odd number from 3 on"));
            }
            (Target::Quorum(Servers { addresses, tls }), parts.path.strip_prefix('/'))
        }
        "memory" => {
            if parts.login.is_some() {
                return Err(refused("a memory URL has no user and no password", MEMORY));
            }
            if !matches!(parts.path, "" | "/") {
                return Err(refused("a memory URL has no path", MEMORY));
            }
            let name = decode(parts.host)?;
            (Target::Memory((!name.is_empty()).then_some(name)), None)
        }
        "rediss+unix" | "valkeys+unix" => {
            let what = "a socket of this machine has no TLS: what goes through it does not leave the machine";
            return Err(refused(what, "redis+unix:///path/of/socket"));
        }
        other => return Err(refused(format_args!("the scheme {other:?} is not known"), SCHEMES)),
    };
    let mut config = Config::for_target(target);
    set_all(&mut config, &parts, db.filter(|db| !db.is_empty()))?;
    Ok(config)
}

/// Whether the scheme asks for TLS; an error where there is none.
fn is_tls(scheme: &str) -> Result<bool> {
    let tls = scheme.starts_with("rediss") || scheme.starts_with("valkeys");
    if tls && !cfg!(feature = "tls") {
        let message = "this build of libdlock has no TLS (rediss://, valkeys://); build it with the feature tls of the crate \
                       libdlock";
        return Err(Error::new(ErrorKind::Unsupported, "configure", message));
    }
    Ok(tls)
}

/// Takes what follows `://` apart.
fn split(rest: &str) -> Result<Parts<'_>> {
    let (authority, behind) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, query) = behind.split_once('?').unwrap_or((behind, ""));
    // With no authority there is no password that could reach beyond it: the path of a socket may hold an `@`.
    if !authority.is_empty() && behind.contains('@') {
        return Err(invalid(
            "the URL holds an '@' behind its first '/' or '?'; in a user and password write %2F for '/' and %3F for '?', \
             and behind the host %40 for '@'",
        ));
    }
    let (login, host) = authority.rsplit_once('@').map_or((None, authority), |(login, host)| (Some(login), host));
    Ok(Parts { login, host, path, query })
}

/// The sentinels, and what stands behind the name of the master.
fn sentinels<'a>(parts: &Parts<'a>) -> Result<(Sentinels, Option<&'a str>)> {
    let addresses = addresses(parts.host, SENTINEL_PORT, MOST_SENTINELS, "sentinels")?;
    let path = parts.path.strip_prefix('/').unwrap_or_default();
    let (master, db) = path.split_once('/').map_or((path, None), |(master, db)| (master, Some(db)));
    let master = decode(master)?;
    if master.is_empty() {
        return Err(refused("the URL does not say which master of the sentinels it means", SENTINELS));
    }
    Ok((Sentinels { addresses, master }, db))
}

/// Several of them, each once.
fn addresses(text: &str, default_port: u16, most: usize, what: &str) -> Result<Vec<Address>> {
    let mut addresses: Vec<Address> = Vec::new();
    for text in text.split(',') {
        let Address { host, port } = address(text, default_port)?;
        // Names of hosts are the same in any case.
        let address = Address { host: host.to_ascii_lowercase(), port };
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.len() > most {
        true => Err(refused(format_args!("the URL names too many {what}"), format!("1 to {most}"))),
        false => Ok(addresses),
    }
}

fn address(text: &str, default_port: u16) -> Result<Address> {
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let inside = bracketed.split_once(']');
            let address = inside.and_then(|(address, port)| Some((address.parse::<Ipv6Addr>().ok()?, port)));
            let Some((address, port)) = address else {
                return Err(invalid("the URL's host begins with '[' and is no IPv6 address in [ and ]"));
            };
            (address.to_string(), port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            (decode(host)?, port)
        }
    };
    if host.is_empty() {
        return Err(refused("the URL names no host", "host, host:port and [IPv6]:port"));
    }
    let number = match port {
        "" | ":" => Some(default_port),
        _ => port
            .strip_prefix(':')
            .filter(|port| port.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|port| port.parse().ok()),
    };
    let port = number.filter(|port| *port > 0);
    let port = port.ok_or_else(|| refused("the URL's port is no port", "whole numbers from 1 to 65535"))?;
    Ok(Address { host, port })
}

fn set_all(config: &mut Config, parts: &Parts<'_>, db: Option<&str>) -> Result<()> {
    let mut given = names::Given::default();
    let set = |config: &mut Config, given: &mut names::Given, option: &str, value: &str| {
        given.note(option, true)?;
        // Not `Config::set`: what is set later overrides the URL, under whichever name.
        config.options.set(option, value)
    };
    if let Some(login) = parts.login {
        let (user, password) = login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
        if !user.is_empty() {
            set(config, &mut given, "user", &decode(user)?)?;
        }
        if let Some(password) = password {
            set(config, &mut given, "password", &decode(password)?)?;
        }
    }
    if let Some(db) = db {
        // Not shown: it may be anything that was meant to be something else.
        if set(config, &mut given, "db", db).is_err() {
            return Err(refused("the URL's path is no number of a database", "0 to 65535"));
        }
    }
    // Whether the query has given a password.
    let mut has_password = false;
    for parameter in parts.query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (option, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let (option, value) = (decode(&option.replace('+', " "))?, decode(&value.replace('+', " "))?);
        // It would let whoever writes the URL read this machine's files and environment.
        if names::sources().any(|source| source == option) {
            let message =
                format!("{option} may not stand in a URL, whose author could read files with it; set it as an option");
            return Err(invalid(message));
        }
        set(config, &mut given, &option, &value).map_err(|error| match has_password {
            // It may be the rest of the password.
            true => invalid("the URL's query cannot be read behind the password; write %26 for an '&' in it"),
            false => error,
        })?;
        has_password |= matches!(option.as_str(), "password" | "sentinel_password");
    }
    Ok(())
}

/// Undoes percent-encoding.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(invalid("the URL holds a '%' without two hexadecimal digits behind it; write %25 for '%'"));
        };
        bytes.push((high * 16 + low) as u8);
    }
    if bytes.contains(&0) {
        return Err(invalid("the URL holds a NUL (%00), which is not allowed"));
    }
    String::from_utf8(bytes).map_err(|_| invalid("a percent-encoded part of the URL is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Password, Secret};

    fn vectors(which: &str) -> Vec<serde_json::Value> {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/urls.json")).unwrap();
        vectors[which].as_array().unwrap().clone()
    }

    #[test]
    fn the_parts_of_a_url_land_where_they_belong() {
        for vector in vectors("good") {
            let (url, tls) = (vector["url"].as_str().unwrap(), vector["tls"] == true);
            if tls && !cfg!(feature = "tls") {
                continue;
            }
            let config = parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(config.target.is_tls(), tls, "{url}");
            assert_eq!(config.target.to_string(), vector["target"].as_str().unwrap(), "{url}");
            assert_eq!(config.options.user.as_deref(), vector["user"].as_str(), "{url}");
            let password = |name: &str| Some(Password::Given(Secret(vector[name].as_str()?.to_owned())));
            assert_eq!(config.options.password, password("password"), "{url}");
            assert_eq!(config.options.sentinel_user.as_deref(), vector["sentinel_user"].as_str(), "{url}");
            assert_eq!(config.options.sentinel_password, password("sentinel_password"), "{url}");
            assert_eq!(config.options.db, vector["db"].as_i64().unwrap_or(0), "{url}");
        }
        let config = parse(" redis://h/3?lease=10s&client_name=w1\n").unwrap();
        assert_eq!((config.options.db, config.options.lease.as_secs()), (3, 10));
        assert_eq!(config.options.client_name, "w1");
    }

    #[test]
    fn a_refused_url_says_what_is_allowed_and_no_secret() {
        for vector in vectors("bad") {
            let (url, says) = (vector["url"].as_str().unwrap(), vector["says"].as_str().unwrap());
            let error = parse(url).err().unwrap_or_else(|| panic!("{url} was accepted"));
            assert_eq!(error.kind().as_str(), vector["kind"].as_str().unwrap_or("INVALID_ARGUMENT"), "{url}");
            assert!(error.message().contains(says), "{url}: {error}");
            let shown = error.to_string().to_lowercase();
            assert!(!shown.contains("s3") && !shown.contains("cret") && !shown.contains("12"), "{url}: {error}");
        }
    }

    #[test]
    fn a_parser_of_any_text_shows_nothing_before_the_last_at() {
        // Each of these may follow any other in a password.
        let pieces = ["SECRET", ":", "/", "?", "12", "%", "%2", "&", "=", "@", "db", "[", "]", "+1"];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    for url in [
                        format!("redis://u:{first}{second}{third}SECRET@h"),
                        format!("redis://{first}{second}{third}SECRET@h:1/0"),
                        format!("unix://u{first}{second}{third}SECRET@/run/x"),
                        format!("redis+sentinel://u:{first}{second}{third}SECRET@h,h:1/m"),
                    ] {
                        if let Err(error) = parse(&url) {
                            assert!(!error.to_string().contains("SECRET"), "{url}: {error}");
                        }
                    }
                }
            }
        }
    }
}
