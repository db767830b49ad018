//! Which rows are shown, and in which order.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use libdlock::survey::Kind;

use super::{Row, View};

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// By name
    #[default]
    Name,
    /// The least time left first
    Left,
    /// The most waiters first
    Queued,
    /// The longest wait first
    Waited,
    /// The most grants per second first
    Grants,
    /// The longest held first
    Held,
}

impl Sort {
    /// The one after it, round and round.
    pub fn next(self) -> Sort {
        let all = Sort::value_variants();
        let at = all.iter().position(|sort| *sort == self).unwrap_or(0);
        all[(at + 1) % all.len()]
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Left => "left",
            Sort::Queued => "queued",
            Sort::Waited => "waited",
            Sort::Grants => "grants",
            Sort::Held => "held",
        }
    }

    fn compare(self, one: &Row, other: &Row) -> Ordering {
        let by = match self {
            Sort::Name => Ordering::Equal,
            // Those without an end come last.
            Sort::Left => {
                let left = |row: &Row| row.left().map_or((1, Default::default()), |left| (0, left));
                left(one).cmp(&left(other))
            }
            Sort::Queued => Reverse(one.details.queued).cmp(&Reverse(other.details.queued)),
            Sort::Waited => other.waits().max().cmp(&one.waits().max()),
            Sort::Grants => other.grants.total_cmp(&one.grants),
            Sort::Held => other.held_for().cmp(&one.held_for()),
        };
        by.then_with(|| (&one.details.name, one.details.kind).cmp(&(&other.details.name, other.details.kind)))
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Pick {
    /// A part of the name, or of the holder, in whatever case.
    pub filter: String,
    pub kind: Option<Kind>,
    pub sort: Sort,
}

impl Pick {
    /// The rows, all of them, in order.
    pub fn rows(&self, view: &View) -> Vec<Arc<Row>> {
        let filter = self.filter.to_lowercase();
        let is_in = |text: &str| text.to_lowercase().contains(&filter);
        let is_wanted = |row: &&Arc<Row>| {
            self.kind.is_none_or(|kind| kind == row.details.kind)
                && (filter.is_empty()
                    || is_in(&row.details.name)
                    || row.details.holder().is_some_and(is_in)
                    || row.waiters.iter().any(|waiter| is_in(&waiter.client)))
        };
        let mut rows: Vec<_> = view.rows.iter().filter(is_wanted).cloned().collect();
        rows.sort_by(|one, other| self.sort.compare(one, other));
        rows
    }
}
