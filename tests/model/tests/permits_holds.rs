//! Objects that several can hold hold their promises: no order of events within these bounds breaks a property.

use libdlock_model::Kinds;
use libdlock_model::check::holds;
use libdlock_model::permits::Config;

#[test]
fn a5() {
    holds(
        "foreign, total 2, wants 1 2 1",
        Config { foreign: 2, cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) },
    );
    holds(
        "foreign, total 2, wants 1 2 1",
        Config { foreign: 1, cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(1, Kinds::ALL),
    );
}
#[test]
fn f0() {
    let k = Kinds::ALL;
    holds("total 2, wants 1 2 1", Config { cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(1, k));
    holds("total 2, wants 1,2 2", Config { cancels: 1, ..Config::semaphore(2, &[&[1, 2], &[2]]) }.faults(1, k));
    holds("total 2, wants 2,1 1", Config { cancels: 1, ..Config::semaphore(2, &[&[2, 1], &[1]]) }.faults(1, k));
    holds(
        "total 2, wants 2,1 1, 2 faults",
        Config { cancels: 1, ..Config::semaphore(2, &[&[2, 1], &[1]]) }.faults(2, k),
    );
    holds("total 2, wants 1,1 1,1", Config { cancels: 1, ..Config::semaphore(2, &[&[1, 1], &[1, 1]]) }.faults(1, k));
}
#[test]
fn f2() {
    let k = Kinds::SERVER;
    holds("total 2, wants 1 2 1", Config { cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(1, k));
    holds("total 2, wants 1,2 2", Config { cancels: 1, ..Config::semaphore(2, &[&[1, 2], &[2]]) }.faults(1, k));
    holds("total 2, wants 2,1 1", Config { cancels: 1, ..Config::semaphore(2, &[&[2, 1], &[1]]) }.faults(1, k));
    holds("total 2, wants 1,1 1,1", Config { cancels: 1, ..Config::semaphore(2, &[&[1, 1], &[1, 1]]) }.faults(1, k));
    holds(
        "total 3, wants 2 1 1",
        Config { cancels: 1, lease: 4, ..Config::semaphore(3, &[&[2], &[1], &[1]]) }.faults(1, k),
    );
}
#[test]
fn f3() {
    holds(
        "2 faults total 2, wants 1 2 1",
        Config { cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(2, Kinds::NETWORK_AND_PROCESSES),
    );
    holds(
        "2 faults tries total 2, wants 1 2 1",
        Config { tries: &[1], ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(1, Kinds::NETWORK_AND_PROCESSES),
    );
}
#[test]
fn f4() {
    holds(
        "totals total 2, wants 1 2 1",
        Config { totals: &[1, 2], ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(1, Kinds::NETWORK_AND_PROCESSES),
    );
    holds(
        "fresh 2, wants 1 2 1",
        Config { fresh: true, cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }
            .faults(1, Kinds::NETWORK_AND_PROCESSES),
    );
}
#[test]
fn f5() {
    holds(
        "long silence 2, wants 1 2 1",
        Config { lease: 9, long_silence: true, cancels: 0, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }
            .faults(1, Kinds::NETWORK_AND_PROCESSES),
    );
    holds(
        "long silence 2, wants 1 2 1, 2 crash",
        Config { lease: 9, long_silence: true, cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }
            .faults(2, Kinds { crash: true, ..Kinds::NONE }),
    );
    holds(
        "long silence 2, wants 2,1 2 1, 2 crash",
        Config { lease: 9, long_silence: true, cancels: 0, ..Config::semaphore(2, &[&[2, 1], &[2], &[1]]) }
            .faults(2, Kinds { crash: true, ..Kinds::NONE }),
    );
}
#[test]
fn f6() {
    holds(
        "spin 2, wants 1 2 1",
        Config { count_asks: true, cancels: 1, ..Config::semaphore(2, &[&[1], &[2], &[1]]) }.faults(1, Kinds::ALL),
    );
    holds(
        "spin 2, wants 1,2 1,1",
        Config { count_asks: true, cancels: 1, ..Config::semaphore(2, &[&[1, 2], &[1, 1]]) }.faults(1, Kinds::ALL),
    );
}
