//! A step and its answer.

use std::collections::HashMap;
use std::fmt::Display;
use std::time::Duration;

use libdlock::Client;

/// The clients of a scenario, by their names in it.
pub(crate) type Clients = HashMap<String, Client>;

/// A step taken apart.
pub(crate) struct Step<'a> {
    pub(crate) verb: &'a str,
    pub(crate) objects: Vec<&'a str>,
    pub(crate) options: HashMap<&'a str, &'a str>,
}

impl<'a> Step<'a> {
    pub(crate) fn of(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let (options, objects): (Vec<_>, Vec<_>) = words.partition(|word| word.contains('='));
        Self { verb, objects, options: options.into_iter().filter_map(|word| word.split_once('=')).collect() }
    }

    pub(crate) fn number(&self, name: &str) -> i64 {
        self.given(name).unwrap_or_else(|| panic!("{} has no {name}", self.verb))
    }

    pub(crate) fn given(&self, name: &str) -> Option<i64> {
        self.options.get(name).map(|value| value.parse().expect("a number"))
    }

    /// Core has no negative numbers: what the other languages refuse in the bridge cannot be said here.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.number(name).try_into().expect("0 or more")
    }

    pub(crate) fn millis(&self, name: &str) -> Option<Duration> {
        self.given(name).map(|ms| Duration::from_millis(ms.try_into().expect("0 or more")))
    }

    /// The client that the step names first.
    pub(crate) fn client<'c>(&self, clients: &'c Clients) -> &'c Client {
        &clients[self.objects[0]]
    }
}

/// The values of an answer, as words.
#[derive(Default)]
pub(crate) struct Values(pub(crate) String);

impl Values {
    pub(crate) fn add(mut self, name: &str, value: impl Display) -> Self {
        self.0 += &format!(" {name}={value}");
        self
    }

    pub(crate) fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.add(name, value),
            None => self.add(name, "none"),
        }
    }
}
