//! The sentinels that a client knows: those of its URL, and those that they name.

use super::answer::Answer;
use crate::config::Address;

/// So many at most, whatever the sentinels say.
const MOST: usize = 48;

/// The sentinels, those of the URL first.
pub(super) struct Known {
    of_url: Vec<Address>,
    /// The ids of those of the URL that have told theirs. The others name them by addresses that may differ from the URL's.
    ids: Vec<(Address, String)>,
    /// As of the last time that any answered.
    found: Vec<Address>,
}

impl Known {
    pub(super) fn new(of_url: &[Address]) -> Known {
        Known { of_url: of_url.to_vec(), ids: Vec::new(), found: Vec::new() }
    }

    pub(super) fn addresses(&self) -> Vec<Address> {
        self.of_url.iter().chain(&self.found).cloned().collect()
    }

    /// Learns from answers of one round, each with the address of the sentinel that gave it.
    pub(super) fn learn(&mut self, answers: &[(Address, Answer)]) {
        if answers.is_empty() {
            return;
        }
        for (address, answer) in answers.iter().filter(|(address, _)| self.of_url.contains(address)) {
            self.ids.retain(|(known, _)| known != address);
            self.ids.extend(answer.id.clone().map(|id| (address.clone(), id)));
        }
        let mut found: Vec<(Address, Option<&str>)> = Vec::new();
        for other in answers.iter().flat_map(|(_, answer)| &answer.others) {
            let is_of_url =
                self.of_url.contains(&other.address) || self.ids.iter().any(|(_, id)| other.id.as_ref() == Some(id));
            let is_there = found
                .iter()
                .any(|(address, id)| *address == other.address || (other.id.is_some() && *id == other.id.as_deref()));
            if !is_of_url && !is_there && self.of_url.len() + found.len() < MOST {
                found.push((other.address.clone(), other.id.as_deref()));
            }
        }
        self.found = found.into_iter().map(|(address, _)| address).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Named, Other};
    use super::*;

    fn at(host: &str) -> Address {
        Address { host: host.to_owned(), port: 26379 }
    }

    /// The answer of the sentinel with this id, who names others by host and id.
    fn answer(id: &str, others: &[(&str, &str)]) -> Answer {
        let named = Named { address: at("master"), epoch: Some(1), run_id: None };
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let others = others.iter().map(|(host, id)| Other { address: at(host), id: text(id), is_down: false });
        Answer { id: text(id), named, others: others.collect() }
    }

    fn hosts(known: &Known) -> Vec<String> {
        known.addresses().into_iter().map(|address| address.host).collect()
    }

    #[test]
    fn those_that_the_sentinels_name_are_known_too() {
        let mut known = Known::new(&[at("s1")]);
        known.learn(&[(at("s1"), answer("1", &[("s2", "2"), ("s3", "3")]))]);
        assert_eq!(hosts(&known), ["s1", "s2", "s3"]);
        known.learn(&[]);
        assert_eq!(hosts(&known), ["s1", "s2", "s3"], "none answered");
        known.learn(&[(at("s2"), answer("2", &[("s1", "1"), ("s4", "4")]))]);
        assert_eq!(hosts(&known), ["s1", "s4"], "those that are gone are forgotten, those of the URL are not");
    }

    #[test]
    fn a_sentinel_under_two_addresses_is_one() {
        let mut known = Known::new(&[at("sentinel.example"), at("s2")]);
        let first = (at("sentinel.example"), answer("1", &[("10.0.0.2", "2"), ("10.0.0.3", "3")]));
        let second = (at("s2"), answer("2", &[("10.0.0.1", "1"), ("s3", "3")]));
        known.learn(&[first, second]);
        assert_eq!(hosts(&known), ["sentinel.example", "s2", "10.0.0.3"]);
    }

    #[test]
    fn there_is_a_bound_to_what_sentinels_can_name() {
        let mut known = Known::new(&[at("s1")]);
        let names: Vec<String> = (0..1_000).map(|number| format!("x{number}")).collect();
        let others: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        known.learn(&[(at("s1"), answer("1", &others))]);
        assert_eq!(known.addresses().len(), MOST);
    }
}
