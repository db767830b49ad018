//! How much of a limiter one client may fetch ahead.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::super::object::LimitObject;
use super::super::rate::Algorithm;
use super::super::rates::Rates;
use super::demand;
use super::pocket::Pocket;
use crate::error::{Error, ErrorKind, Result};
use crate::objects::ObjectKind;

/// A share of the burst, more than 0 and no more than 1; checked where a limiter is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(u64);

impl Share {
    pub(crate) fn new(share: f64) -> Share {
        Share(share.to_bits())
    }

    fn get(self) -> f64 {
        f64::from_bits(self.0)
    }

    fn check(self) -> Result<()> {
        let share = self.get();
        match share > 0.0 && share <= 1.0 {
            true => Ok(()),
            false => {
                // Some languages give -0 for a 0 that is meant.
                let share = share + 0.0;
                let what = format_args!("a prefetch of {share} of the burst is out of range");
                let allowed = "more than 0, and no more than 1".to_owned();
                Err(Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, allowed))
            }
        }
    }
}

fn no_prefetch(with: &str) -> Error {
    let what = format_args!("a prefetch was given with {with}");
    Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, "a prefetch with one rate by gcra")
}

/// The pockets of the limiters of one name.
#[derive(Default)]
pub(crate) struct Pockets(Mutex<Vec<(Share, Weak<Pocket>)>>);

impl Pockets {
    /// The pocket for this rate and share. `None` where the share is too small to hold two tokens, or they come too seldom:
    /// then every decision is the server's.
    pub(crate) fn open(shared: &Arc<LimitObject>, rates: &Rates, share: Share) -> Result<Option<Arc<Pocket>>> {
        share.check()?;
        let &[rate] = &**rates else { return Err(no_prefetch("several rates")) };
        if rate.algorithm() != Algorithm::Gcra {
            return Err(no_prefetch(rate.algorithm().as_str()));
        }
        let Some(most) = demand::most(rate, share.get()) else { return Ok(None) };
        let mut pockets = shared.pockets().0.lock().unwrap_or_else(PoisonError::into_inner);
        pockets.retain(|(_, pocket)| pocket.strong_count() > 0);
        let there = pockets.iter().filter(|(of, _)| *of == share).filter_map(|(_, pocket)| pocket.upgrade());
        let mut there: Vec<_> = there.collect();
        there.retain(|pocket| pocket.rate == rate);
        Ok(Some(there.pop().unwrap_or_else(|| {
            let pocket = Arc::new(Pocket::new(shared, rate, most));
            pockets.push((share, Arc::downgrade(&pocket)));
            pocket
        })))
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<Pocket>> {
        let pockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pockets.iter().filter_map(|(_, pocket)| pocket.upgrade()).collect()
    }
}
