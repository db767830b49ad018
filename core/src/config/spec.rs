//! One row of the table of options: how an option of each type is read, checked and shown.

use std::time::Duration;

use super::options::{Options, Password};
use super::range::Range;
use super::refused;
use crate::error::{Error, Result};

const OUT_OF_RANGE: &str = "is out of range";

/// One row of the table.
pub(super) struct Spec {
    /// With the group: `lock.cohort_max`.
    pub(super) name: &'static str,
    pub(super) set: fn(&mut Options, &str, &Given<'_>) -> Result<()>,
    /// The present value as text, a password masked.
    pub(super) get: fn(&Options) -> String,
    /// Bounds of a duration in milliseconds, of a whole number in itself.
    pub(super) bounds: Option<(u64, u64)>,
}

/// An option that says where a password stands.
pub(super) struct SourceSpec {
    pub(super) name: &'static str,
    /// The password that it is about.
    pub(super) of: fn(&mut Options) -> &mut Option<Password>,
    pub(super) password: fn(&str) -> Password,
}

/// An option as a caller named it, with or without its group.
pub(super) struct Given<'a> {
    pub(super) name: &'a str,
    pub(super) bounds: Option<(u64, u64)>,
}

impl Given<'_> {
    /// An error about the value, of which `what` is wrong.
    fn refuse(&self, value: &str, what: &str, allowed: impl Into<String>) -> Error {
        refused(format_args!("option {}: {value:?} {what}", self.name), allowed)
    }

    pub(super) fn text(&self, value: &str) -> Result<String> {
        if value.contains('\0') {
            return Err(self.refuse(value, "holds a NUL", "text without NUL"));
        }
        Ok(value.to_owned())
    }

    /// Printable ASCII without spaces.
    pub(super) fn word(&self, value: &str) -> Result<String> {
        if let Some(bad) = value.chars().find(|c| !('!'..='~').contains(c)) {
            return Err(self.refuse(value, &format!("holds {bad:?}"), "printable ASCII without spaces"));
        }
        Ok(value.to_owned())
    }

    pub(super) fn flag(&self, value: &str) -> Result<bool> {
        value.parse().map_err(|_| self.refuse(value, "is no boolean", "true and false"))
    }

    pub(super) fn number(&self, value: &str) -> Result<u64> {
        let (min, max) = self.bounds.unwrap_or((0, u64::MAX));
        let number = value.parse().ok().filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| {
            let what = if value.parse::<i128>().is_ok() { OUT_OF_RANGE } else { "is no whole number" };
            self.refuse(value, what, format!("whole numbers from {min} to {max}"))
        })
    }

    pub(super) fn duration(&self, value: &str) -> Result<Duration> {
        let (min, max) = self.bounds.unwrap_or((0, u64::MAX));
        let refuse = |what| {
            let allowed = format!("{}, written as 250ms, 5s, 1h or a number of ms", Range { min, max });
            self.refuse(value, what, allowed)
        };
        let duration = parse_duration(value).ok_or_else(|| refuse("is no duration"))?;
        if duration < Duration::from_millis(min) || duration > Duration::from_millis(max) {
            return Err(refuse(OUT_OF_RANGE));
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

macro_rules! duration {
    ($name:literal, $field:ident, $min:expr, $max:expr) => {
        Spec {
            name: $name,
            set: |options, value, given| given.duration(value).map(|duration| options.$field = duration),
            get: |options| format!("{}ms", options.$field.as_millis()),
            bounds: Some(($min, $max)),
        }
    };
}

macro_rules! flag {
    ($name:literal, $field:ident) => {
        Spec {
            name: $name,
            set: |options, value, given| given.flag(value).map(|flag| options.$field = flag),
            get: |options| options.$field.to_string(),
            bounds: None,
        }
    };
}

macro_rules! number {
    ($name:literal, $field:ident, $min:expr, $max:expr) => {
        Spec {
            name: $name,
            // The bounds keep it within the field's type.
            set: |options, value, given| given.number(value).map(|number| options.$field = number as _),
            get: |options| options.$field.to_string(),
            bounds: Some(($min, $max)),
        }
    };
}

macro_rules! text {
    ($name:literal, $field:ident) => {
        Spec {
            name: $name,
            set: |options, value, given| given.text(value).map(|text| options.$field = text),
            get: |options| options.$field.clone(),
            bounds: None,
        }
    };
}

macro_rules! duration_or_none {
    ($name:literal, $field:ident, $min:expr, $max:expr) => {
        Spec {
            name: $name,
            set: |options, value, given| {
                options.$field = if value == "none" { None } else { Some(given.duration(value)?) };
                Ok(())
            },
            get: |options| options.$field.map_or("none".to_owned(), |value| format!("{}ms", value.as_millis())),
            bounds: Some(($min, $max)),
        }
    };
}

macro_rules! optional_text {
    ($name:literal, $field:ident) => {
        Spec {
            name: $name,
            set: |options, value, given| given.text(value).map(|text| options.$field = Some(text)),
            get: |options| options.$field.clone().unwrap_or_default(),
            bounds: None,
        }
    };
}

macro_rules! secret {
    ($name:literal, $field:ident) => {
        Spec {
            name: $name,
            set: |options, value, _| {
                options.$field = Some(Password::Given(Secret(value.to_owned())));
                Ok(())
            },
            get: |options| options.$field.as_ref().map_or(String::new(), Password::masked),
            bounds: None,
        }
    };
}

macro_rules! word {
    ($name:literal, $field:ident) => {
        Spec {
            name: $name,
            set: |options, value, given| given.word(value).map(|word| options.$field = word),
            get: |options| options.$field.clone(),
            bounds: None,
        }
    };
}

macro_rules! source {
    ($name:literal, $field:ident, $place:ident) => {
        SourceSpec {
            name: $name,
            of: |options| &mut options.$field,
            password: |value| Password::Stands { option: $name, source: PasswordSource::$place(value.into()) },
        }
    };
}

pub(super) use {duration, duration_or_none, flag, number, optional_text, secret, source, text, word};
