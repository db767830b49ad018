//! Runs the checker, and says what it did.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model, Representative};

/// Visits every state, and panics with the events that lead to the first one in which a property does not hold.
pub fn holds<M>(what: &str, config: M)
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Representative + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let started = Instant::now();
    let checker = config.checker().symmetry().finish_when(HasDiscoveries::AnyFailures).spawn_dfs().join();
    report(what, &checker, started);
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        let events: Vec<_> = path.into_actions().iter().map(|event| format!("{event:?}")).collect();
        panic!("{what}: {property} does not hold after\n{}", events.join("\n"));
    }
    assert!(checker.is_done(), "{what}: the space was not exhausted");
}

/// Looks for the shortest way to a state in which the property does not hold.
pub fn counterexample<M>(what: &str, config: M, property: &'static str) -> Vec<M::Action>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let started = Instant::now();
    let found = HasDiscoveries::AllOf(BTreeSet::from([property]));
    let checker = config.checker().finish_when(found).spawn_bfs().join();
    report(what, &checker, started);
    let path = checker.discovery(property);
    path.unwrap_or_else(|| panic!("{what}: {property} holds all the same")).into_actions()
}

/// The same for a space in which the shortest is too far: any way.
pub fn some_counterexample<M>(what: &str, config: M, property: &'static str) -> Vec<M::Action>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Representative + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let started = Instant::now();
    let found = HasDiscoveries::AllOf(BTreeSet::from([property]));
    let checker = config.checker().symmetry().finish_when(found).spawn_dfs().join();
    report(what, &checker, started);
    let path = checker.discovery(property);
    path.unwrap_or_else(|| panic!("{what}: {property} holds all the same")).into_actions()
}

/// Looks until each of these was seen, and says which were not.
pub fn unseen<M>(what: &str, config: M, events: BTreeSet<&'static str>) -> Vec<&'static str>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let started = Instant::now();
    let checker = config.checker().finish_when(HasDiscoveries::AllOf(events.clone())).spawn_bfs().join();
    report(what, &checker, started);
    let seen = checker.discoveries();
    events.into_iter().filter(|event| !seen.contains_key(event)).collect()
}

fn report<M: Model>(what: &str, checker: &impl Checker<M>, started: Instant)
where
    M::State: Debug + Hash,
{
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    println!("{what}: {states} states, {steps} steps, {:.1} s", started.elapsed().as_secs_f32());
}
