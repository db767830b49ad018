//! Which of several sentinels is right.

use super::answer::{Answer, Named};
use crate::config::Address;

/// The master that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Followed {
    pub(super) named: Named,
    /// The sentinels that were asked last named an older one, but not all of them answered.
    pub(super) is_doubted: bool,
}

/// Two sentinels that name two servers, and nothing tells which of them is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Disagreement {
    pub(super) how: Apart,
    pub(super) sides: [(Address, Address); 2],
}

/// What two sentinels that disagree have said besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    /// The same epoch, or none.
    SameEpoch(Option<u64>),
    /// They belong to two deployments, whose epochs have nothing to do with one another.
    Strangers,
}

/// The master to follow, of what these sentinels say; at least one. `all` if every sentinel that is known has answered.
///
/// The highest epoch is the latest failover. A client that has followed one does not go back before it, where that server may
/// still be a master in its own eyes, unless all sentinels agree that it was none: they were set up anew. Sentinels that know
/// nothing of one another count failovers of two deployments.
pub(super) fn choose(
    answers: &[(Address, Answer)],
    all: bool,
    followed: Option<&Followed>,
) -> Result<Followed, Box<Disagreement>> {
    let (says, latest) = answers.iter().max_by_key(|(_, answer)| answer.named.epoch).expect("an answer at least");
    let best = &latest.named;
    if let Some(followed) = followed.filter(|followed| followed.named.epoch > best.epoch && !all) {
        return Ok(Followed { is_doubted: true, ..followed.clone() });
    }
    let apart = |answer: &Answer| match &answer.named {
        named if named.is_same_server(best) => None,
        named if named.epoch == best.epoch => Some(Apart::SameEpoch(best.epoch)),
        _ => answer.is_stranger_to(latest).then_some(Apart::Strangers),
    };
    if let Some((how, other_says, other)) = answers.iter().find_map(|(at, answer)| Some((apart(answer)?, at, answer))) {
        let sides = [(says, &best.address), (other_says, &other.named.address)];
        let sides = sides.map(|(says, what)| (says.clone(), what.clone()));
        return Err(Box::new(Disagreement { how, sides }));
    }
    // Under the address that is in use, if it has several.
    let in_use = followed.map(|followed| &followed.named);
    let in_use = in_use.filter(|in_use| in_use.epoch == best.epoch && in_use.is_same_server(best));
    let named = Named { address: in_use.unwrap_or(best).address.clone(), ..best.clone() };
    Ok(Followed { named, is_doubted: false })
}

#[cfg(test)]
mod tests {
    use super::super::answer::Other;
    use super::*;

    fn at(host: &str) -> Address {
        Address { host: host.to_owned(), port: 1 }
    }

    fn named(host: &str, epoch: impl Into<Option<u64>>) -> Named {
        Named { address: at(host), epoch: epoch.into(), run_id: None }
    }

    fn chosen(answers: &[Named], all: bool, followed: Option<&Followed>) -> Result<Followed, Box<Disagreement>> {
        let answer = |named: &Named| Answer { id: None, named: named.clone(), others: Vec::new() };
        chosen_of(answers.iter().map(answer).collect(), all, followed)
    }

    fn chosen_of(answers: Vec<Answer>, all: bool, followed: Option<&Followed>) -> Result<Followed, Box<Disagreement>> {
        let names = (1..).map(|number| at(&format!("s{number}")));
        choose(&names.zip(answers).collect::<Vec<_>>(), all, followed)
    }

    fn follows(named: Named) -> Followed {
        Followed { named, is_doubted: false }
    }

    #[test]
    fn the_latest_failover_is_right_however_few_know_of_it() {
        let answers = [named("old", 5), named("new", 6), named("old", 5), named("forbidden", None)];
        assert_eq!(chosen(&answers, true, None), Ok(follows(named("new", 6))));
        assert_eq!(chosen(&answers, false, Some(&follows(named("old", 5)))), Ok(follows(named("new", 6))));
    }

    #[test]
    fn a_failover_is_not_undone_by_those_who_missed_it() {
        let new = follows(named("new", 6));
        let stale = [named("old", 5), named("old", 5)];
        assert_eq!(chosen(&stale, false, Some(&new)), Ok(Followed { is_doubted: true, ..new.clone() }));
        assert_eq!(chosen(&stale, true, Some(&new)), Ok(follows(named("old", 5))), "set up anew");
        assert_eq!(chosen(&[named("new", 6), named("old", 5)], false, Some(&new)), Ok(new));
    }

    #[test]
    fn two_masters_of_one_epoch_are_no_answer() {
        for epoch in [Some(0), None] {
            let apart = chosen(&[named("a", epoch), named("b", epoch)], true, None).expect_err("nobody can tell");
            assert_eq!(apart.how, Apart::SameEpoch(epoch));
            assert!(apart.sides.contains(&(at("s1"), at("a"))) && apart.sides.contains(&(at("s2"), at("b"))));
        }
        assert!(chosen(&[named("a", 0), named("b", 0), named("c", 1)], true, None).is_ok(), "a later one decides");
    }

    #[test]
    fn sentinels_that_know_nothing_of_each_other_are_strangers() {
        let answer = |id: &str, others: &[&str], named: Named| {
            let other =
                |id: &&str| Other { address: at("s"), id: (!id.is_empty()).then(|| id.to_string()), is_down: true };
            Answer { id: Some(id.to_owned()), named, others: others.iter().map(other).collect() }
        };
        let ours = |others: &[&str]| answer("1", others, named("ours", 1));
        let theirs = |others: &[&str]| answer("7", others, named("theirs", 5));
        let apart = chosen_of(vec![ours(&["2"]), theirs(&["8"])], true, None).expect_err("two deployments");
        assert_eq!(apart.how, Apart::Strangers);
        for (one, other, why) in [
            (ours(&["2"]), theirs(&["1", "8"]), "one knows the other"),
            (ours(&["2"]), theirs(&["2"]), "both know a third"),
            (ours(&[]), theirs(&["8"]), "it has just started"),
            (ours(&["2"]), theirs(&[""]), "it does not say whom it knows"),
            (ours(&["2"]), Answer { id: None, ..theirs(&["8"]) }, "it does not say who it is"),
        ] {
            assert_eq!(chosen_of(vec![one, other], true, None), Ok(follows(named("theirs", 5))), "{why}");
        }
        let same = answer("7", &["8"], named("ours", 5));
        assert_eq!(chosen_of(vec![ours(&["2"]), same], true, None), Ok(follows(named("ours", 5))), "they agree");
    }

    #[test]
    fn one_server_under_two_addresses_is_no_disagreement() {
        let with_id = |host: &str| Named { run_id: Some("id".to_owned()), ..named(host, 1) };
        let answers = [with_id("10.0.0.1"), with_id("redis-1")];
        for in_use in ["10.0.0.1", "redis-1"] {
            let followed = chosen(&answers, true, Some(&follows(with_id(in_use))));
            assert_eq!(followed, Ok(follows(with_id(in_use))), "nobody leaves for the other name");
        }
    }
}
