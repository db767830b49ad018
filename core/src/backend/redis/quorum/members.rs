//! Some of the servers.

/// A set of servers by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members(u16);

impl Members {
    /// The first `number` of them, 15 at most.
    pub(super) fn first(number: usize) -> Members {
        Members((1 << number) - 1)
    }

    pub(super) fn one(server: usize) -> Members {
        Members(1 << server)
    }

    pub(crate) fn insert(&mut self, server: usize) {
        self.0 |= 1 << server;
    }

    pub(crate) fn remove(&mut self, server: usize) {
        self.0 &= !(1 << server);
    }

    pub(crate) fn has(self, server: usize) -> bool {
        self.0 & 1 << server != 0
    }

    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn union(self, others: Members) -> Members {
        Members(self.0 | others.0)
    }

    pub(crate) fn without(self, others: Members) -> Members {
        Members(self.0 & !others.0)
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..16).filter(move |server| self.has(*server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_servers_has_those_that_were_put_in() {
        let mut some = Members::first(15);
        assert_eq!(some.len(), 15);
        (0..14).for_each(|server| some.remove(server));
        assert_eq!(some.numbers().collect::<Vec<_>>(), [14]);
        some.insert(3);
        some.insert(3);
        assert_eq!(some.union(Members::first(1)).numbers().collect::<Vec<_>>(), [0, 3, 14]);
        assert_eq!(some.without(Members::first(4)).numbers().collect::<Vec<_>>(), [14]);
        assert_eq!(some.union(Members::first(4)).without(some).numbers().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(Members::default().is_empty() && !some.is_empty());
    }
}
