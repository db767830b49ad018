//! Names of options: with the group of their kind, as `lock.cohort_max`. Those that are older than groups have a flat name,
//! too: `cohort_max`.

use super::spec::Spec;
use super::table::{FLAT, SOURCES, TABLE};
use super::{invalid, refused};
use crate::error::{Error, Result};

/// Options that are no rows of the table.
pub(super) fn sources() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.name)
}

/// The option of that name, which may be its flat one.
pub(super) fn find(option: &str) -> Option<&'static Spec> {
    let name = FLAT.iter().find(|(flat, _)| *flat == option).map_or(option, |(_, name)| name);
    TABLE.iter().find(|spec| spec.name == name)
}

/// An error that suggests the option that was meant, and lists them all.
pub(super) fn unknown(option: &str) -> Error {
    let known: Vec<&str> = TABLE.iter().map(|spec| spec.name).chain(sources()).collect();
    let hint = meant(option, &known).map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
    refused(format_args!("there is no option {option:?}{hint}"), known.join(", "))
}

/// The known option whose name differs least, in a few letters or in the group alone.
fn meant<'a>(option: &str, known: &[&'a str]) -> Option<&'a str> {
    let wanted = flat(option);
    if wanted.len() > LONGEST {
        return None;
    }
    let near = known.iter().map(|known| (distance(&wanted, &flat(known)), *known)).min()?;
    (near.0 <= 2 && near.0 * 3 <= wanted.len()).then_some(near.1)
}

/// No name of an option is longer.
const LONGEST: usize = 40;

/// Without its group, `cohortMax` and `cohort-max` as `cohort_max`.
fn flat(option: &str) -> String {
    let mut flat = String::new();
    let mut after_small = false;
    for letter in option.rsplit('.').next().unwrap_or(option).chars() {
        if letter.is_ascii_uppercase() && after_small {
            flat.push('_');
        }
        after_small = letter.is_ascii_lowercase();
        flat.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    flat
}

/// How many letters have to be added, removed or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = at;
        row[0] = at + 1;
        for (index, against) in other.iter().enumerate() {
            let replaced = before + usize::from(letter != *against);
            before = row[index + 1];
            row[index + 1] = replaced.min(row[index] + 1).min(before + 1);
        }
    }
    row[other.len()]
}

/// The names under which options were given in one place, such as a URL.
#[derive(Clone, Default)]
pub(super) struct Given(Vec<(&'static str, String)>);

impl Given {
    /// Notes an option, under whichever name. An error if it was given before under its other name, or at all if
    /// `only_once`.
    pub(super) fn note(&mut self, option: &str, only_once: bool) -> Result<()> {
        let name = find(option).map(|spec| spec.name).or(sources().find(|source| *source == option));
        let Some(name) = name else { return Ok(()) };
        match self.0.iter().find(|(before, _)| *before == name) {
            Some((_, before)) if before != option => {
                Err(invalid(format!("option {option}: also given as {before}; these are two names of one option")))
            }
            Some(_) if only_once => Err(invalid(format!("the URL gives {option} twice"))),
            Some(_) => Ok(()),
            None => {
                self.0.push((name, option.to_owned()));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Options};

    #[test]
    fn an_unknown_option_lists_the_known_ones() {
        let error = Options::default().set("nonsense", "5s").unwrap_err();
        let message = error.message();
        assert!(message.starts_with("there is no option \"nonsense\"; allowed: connect_timeout, "), "{message}");
        assert!(
            message.contains(" lock.cohort_max, ") && message.contains(", password_env, password_file, "),
            "{message}"
        );
    }

    #[test]
    fn an_unknown_option_suggests_the_name_with_its_group() {
        for (given, meant) in [
            ("leese", "lease"),
            ("lock.lease", "lease"),
            ("cohortMax", "lock.cohort_max"),
            ("lock.cohort-mx", "lock.cohort_max"),
            ("limiter.token_ttl", "lock.token_ttl"),
            ("Strict_FIFO", "lock.strict_fifo"),
        ] {
            let error = Options::default().set(given, "1").unwrap_err();
            assert!(error.message().contains(&format!("(did you mean {meant}?); allowed: ")), "{error}");
        }
    }

    #[test]
    fn a_name_without_its_group_is_the_same_option() {
        let flat = Config::from_url("memory://?cohort_max=8&token_ttl=none").unwrap();
        let grouped = Config::from_url("memory://?lock.cohort_max=8&lock.token_ttl=none").unwrap();
        assert_eq!((flat.options.cohort_max, flat.options.token_ttl), (8, None));
        assert!(flat.options == grouped.options);
    }

    #[test]
    fn an_option_under_both_its_names_is_refused() {
        let url = Config::from_url("memory://?cohort_max=8&lock.cohort_max=9").unwrap_err();
        let mut config = Config::from_url("memory://?cohort_max=8").unwrap();
        config.set("lock.cohort_max", "9").unwrap();
        config.set("lock.cohort_max", "10").unwrap();
        assert_eq!(config.options.cohort_max, 10, "an option overrides the URL");
        let set = config.set("cohort_max", "11").unwrap_err();
        assert!(url.message().contains("option lock.cohort_max: also given as cohort_max"), "{url}");
        assert!(set.message().contains("option cohort_max: also given as lock.cohort_max"), "{set}");
    }
}
