//! From the arguments to a client: which server, with which password, and what is done with what the client says.

use std::env::{self, VarError};
use std::sync::Arc;

use libdlock::event::{Event, Level};
use libdlock::{Client, Config, Error};

use crate::args::ServerArgs;
use crate::exit::Failure;
use crate::out::visible;

const DEFAULT_URL: &str = "redis://127.0.0.1:6379";

const URL: &str = "DLOCK_URL";
const PASSWORD: &str = "DLOCK_PASSWORD";

/// Refuses a password on the command line, which every user of the machine can read there. For every command, also for one that
/// asks no server: its arguments are read all the same.
pub fn refuse_passwords(args: &ServerArgs) -> Result<(), Failure> {
    if args.url.as_deref().is_some_and(has_password) {
        return Err(refused("--url"));
    }
    let is_password = |option: &String| matches!(option.split_once('='), Some(("password" | "sentinel_password", value)) if !value.is_empty());
    if args.options.iter().any(is_password) {
        return Err(refused("--option"));
    }
    Ok(())
}

/// Connects as the arguments and the environment say. Warnings of the client go to standard error.
pub async fn connect(args: &ServerArgs) -> Result<Client, Failure> {
    let mut config = quiet_config(args)?;
    config.on_event(Arc::new(warn));
    Ok(Client::connect_with(config).await?)
}

/// What [`connect`] connects by, for one whose warnings nobody wants to see.
pub fn quiet_config(args: &ServerArgs) -> Result<Config, Failure> {
    config_with(args, &[])
}

/// The same with other defaults of some options.
pub fn config_with(args: &ServerArgs, defaults: &[(&str, &str)]) -> Result<Config, Failure> {
    let url = &url(args)?;
    let mut config = Config::from_url(url)?;
    for (name, value) in defaults.iter().filter(|(name, _)| in_query(url, name).is_none()) {
        config.set(name, value)?;
    }
    if let Some(file) = &args.password_file {
        let file = file.to_str().ok_or_else(|| Failure::Usage("--password-file: the path is not UTF-8".to_owned()))?;
        config.set("password_file", file).map_err(|error| no_password(&error))?;
    } else if variable(PASSWORD)?.is_some() && !has_password(url) {
        config.set("password_env", PASSWORD)?;
    }
    for option in &args.options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        config.set(name, value)?;
    }
    Ok(config)
}

/// The value of an option, from wherever it is set.
pub fn option(args: &ServerArgs, name: &str) -> Result<Option<String>, Failure> {
    let among_arguments = args.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
    Ok(match among_arguments {
        Some(value) => Some(value.to_owned()),
        None => in_query(&url(args)?, name).map(str::to_owned),
    })
}

fn url(args: &ServerArgs) -> Result<String, Failure> {
    Ok(match &args.url {
        Some(url) => url.clone(),
        None => variable(URL)?.unwrap_or_else(|| DEFAULT_URL.to_owned()),
    })
}

/// An option in the query of a URL.
fn in_query<'a>(url: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = url.split_once('?')?;
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find_map(|(is, value)| (is == name).then_some(value))
}

/// A variable that is set to something.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Failure::Usage(format!("{name} is not UTF-8"))),
    }
}

/// Whether a URL holds a password, as far as can be told from one that may be wrong in other ways.
fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let login = rest.rsplit_once('@').map(|(login, _)| login);
    let behind = rest.split_once('?').map_or("", |(_, query)| query);
    login.is_some_and(|login| login.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
        || behind.split('&').any(|parameter| {
            matches!(parameter.split_once('='), Some(("password" | "sentinel_password", value)) if !value.is_empty())
        })
}

/// Says it of the argument that was given, and not of the library's option.
fn no_password(error: &Error) -> Failure {
    let reason = error.message().trim_start_matches("option password_file: ");
    Failure::Usage(format!(
        "--password-file: {reason}; name a file that this user can read and that has the password alone, or put the password \
         into {PASSWORD}"
    ))
}

/// Does not repeat it: standard error may go to a log.
fn refused(argument: &str) -> Failure {
    Failure::Usage(format!(
        "{argument} holds a password, which every user of this machine can read in the list of processes; put the URL into \
         {URL}, or the password into {PASSWORD} or into a file for --password-file"
    ))
}

fn warn(event: &Event) {
    if event.level >= Level::Warn {
        let name = event.name.as_deref().map_or(String::new(), |name| format!("{}: ", visible(name)));
        // Nobody may be there to read it.
        crate::out::say(&format!("{name}{}", event.message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_seen_wherever_a_url_may_hold_one() {
        for url in [
            "redis://:secret@host",
            "redis://user:secret@host:1/2",
            "redis://user:se/cr@et@host",
            "rediss://host?password=secret",
            "redis+sentinel://host/master?db=1&sentinel_password=secret",
            "unix:///run/redis.sock?password=secret",
            "user:secret@host",
        ] {
            assert!(has_password(url), "{url}");
        }
        for url in ["redis://host", "redis://user@host", "redis://user:@host", "redis://[::1]:6379", "memory://", "h:1"]
        {
            assert!(!has_password(url), "{url}");
        }
    }
}
