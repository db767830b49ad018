//! What is special about some options: passwords, their sources, and that no text shows them. The table of all is in `table.rs`.

use std::fmt;
use std::path::PathBuf;

use super::spec::Given;
pub(crate) use super::table::Options;
use super::table::{SOURCES, TABLE};
use super::{invalid, names};
use crate::error::Result;

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

impl Options {
    pub(super) fn set(&mut self, option: &str, value: &str) -> Result<()> {
        if let Some(spec) = names::find(option) {
            return (spec.set)(self, value, &Given { name: option, bounds: spec.bounds });
        }
        let source = SOURCES.iter().find(|source| source.name == option).ok_or_else(|| names::unknown(option))?;
        let password = (source.password)(value);
        // Once now, so that a wrong name is an error of the options and not of some later connection.
        password.read()?;
        *(source.of)(self) = Some(password);
        Ok(())
    }
}

/// A password of the options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Password {
    Given(Secret),
    /// It is read again for every connection, since it may be changed while the client runs.
    Stands {
        option: &'static str,
        source: PasswordSource,
    },
}

/// Where a password stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PasswordSource {
    /// The environment variable of this name.
    Environment(String),
    /// The file of this name, without the line ends at its end.
    File(PathBuf),
}

impl Password {
    /// The password as it is now. May block on the file system.
    ///
    /// # Errors
    /// Names the option, and the variable or the file.
    pub(crate) fn read(&self) -> Result<Secret> {
        let (option, source) = match self {
            Password::Given(secret) => return Ok(secret.clone()),
            Password::Stands { option, source } => (option, source),
        };
        match source {
            PasswordSource::Environment(variable) => std::env::var(variable).map_err(|_| {
                invalid(format!("option {option}: the environment has no variable {variable:?} with text in it"))
            }),
            PasswordSource::File(path) => std::fs::read_to_string(path)
                .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
                .map_err(|error| invalid(format!("option {option}: cannot read {path:?}: {}", error.kind()))),
        }
        .map(Secret)
    }

    /// Whether the next connection may find another one.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self, Password::Stands { source: PasswordSource::File(_), .. })
    }

    /// As texts show it: nothing of it, and whether one was given.
    pub(super) fn masked(&self) -> String {
        match self {
            Password::Given(secret) => format!("{secret:?}"),
            Password::Stands { .. } => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_table_is_that_of_the_vectors() {
        let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../api/options.json")).unwrap();
        let rows = vectors["options"].as_array().unwrap();
        let name = |row: &serde_json::Value| match row["group"].as_str() {
            Some(group) => format!("{group}.{}", row["name"].as_str().unwrap()),
            None => row["name"].as_str().unwrap().to_owned(),
        };
        let names: Vec<String> = rows.iter().map(name).collect();
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
            assert!(error.message().contains("100 ms to 24 h"), "{bad}: {error}");
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
            ("lock.cohort_max", "0", "1 to 1024"),
            ("blocking_connections", "65", "0 to 64"),
            ("runtime_threads", "-1", "1 to 64"),
            ("db", "99999999999999999999", "0 to 65535"),
            ("strict_fifo", "True", "true and false"),
        ] {
            let error = options.set(option, bad).unwrap_err();
            assert!(error.message().starts_with(&format!("option {option}: ")), "{error}");
            assert!(error.message().contains(allowed), "{error}");
        }
    }

    #[test]
    fn a_password_file_is_read_again_for_each_connection() {
        let path = std::env::temp_dir().join(format!("libdlock-password-{}", std::process::id()));
        let mut options = Options::default();
        assert!(options.set("password_file", "/nowhere/s3cret").is_err());
        std::fs::write(&path, "first\r\n").unwrap();
        options.set("password_file", path.to_str().unwrap()).unwrap();
        let read = |options: &Options| options.password.as_ref().expect("a password").read();
        assert_eq!(read(&options).unwrap(), Secret("first".into()));
        std::fs::write(&path, "second").unwrap();
        assert_eq!(read(&options).unwrap(), Secret("second".into()));
        std::fs::remove_file(&path).unwrap();
        let error = read(&options).unwrap_err();
        assert!(error.message().contains("option password_file: "), "{error}");
        options.set("password", "third").unwrap();
        assert_eq!(read(&options).unwrap(), Secret("third".into()));
    }

    #[test]
    fn a_password_is_never_shown() {
        let mut options = Options::default();
        for option in ["password", "sentinel_password"] {
            options.set(option, "s3cret").unwrap();
        }
        assert!(!format!("{options:?} {:?}", options.password).contains("s3cret"));
    }
}
