//! Many keys, one limiter: the bucket of key K of the limiter N is that of the limiter `N:K`.

use super::limiter::RateLimiter;
use super::object::LimitObject;
use crate::error::{Error, ErrorKind, Result};
use crate::name::{MAX_NAME_BYTES, ObjectName};
use crate::objects::ObjectKind;

/// Between the name of a limiter and a key.
const SEPARATOR: &str = ":";

impl RateLimiter {
    /// The limiter of one key of many, such as a user or an address: a bucket of its own with the same rate and policy,
    /// without a [prefetch](super::LimiterOptions::prefetch), which is for one key that is asked for all the time. It is
    /// the limiter of the name `NAME:KEY`, so every call that a limiter has works on a key, and whoever opens a limiter by that
    /// name shares the bucket: the key `b:c` of the limiter `a` is the key `c` of the limiter `a:b`.
    ///
    /// No I/O, and cheap: it is meant to be made for each call. The client keeps nothing of a key that nobody uses or waits
    /// for; the server keeps a small key until the bucket is full again.
    ///
    /// # Errors
    /// [`InvalidName`](ErrorKind::InvalidName) for an empty key, and where `NAME:KEY` is no name: it may have 512 bytes, key
    /// prefix included, none of them NUL, and braces only where they form a hash tag. [`Closed`](ErrorKind::Closed).
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use libdlock::{Client, Rate};
    ///
    /// let client = Client::connect("memory://").await?;
    /// let per_user = client.rate_limiter("api", Rate::new(1, Duration::from_secs(60)))?;
    /// assert!(per_user.keyed("user:42")?.try_acquire(1).await?.allowed);
    /// assert!(per_user.keyed("user:43")?.try_acquire(1).await?.allowed);
    /// assert!(!per_user.keyed("user:42")?.try_acquire(1).await?.allowed);
    /// # Ok::<(), libdlock::Error>(()) }).unwrap();
    /// ```
    pub fn keyed(&self, key: &str) -> Result<RateLimiter> {
        // Before anything of the client is touched: in a forked child it may be locked for ever.
        self.check_open(LimitObject::KIND)?;
        let name = self.name_of_key(key)?;
        let make = || LimitObject::new(name.clone(), self.shared.limits().clone());
        let shared = self.shared.client().objects.get_or_insert(&name, make);
        Ok(RateLimiter { shared, rates: self.rates.clone(), policy: self.policy.clone(), pocket: None })
    }

    /// The name of the limiter of a key.
    pub(super) fn name_of_key(&self, key: &str) -> Result<ObjectName> {
        if key.is_empty() {
            let allowed = format!("1 to {MAX_NAME_BYTES} bytes, together with the limiter's name and a colon");
            let refused = Error::refused(ErrorKind::InvalidName, LimitObject::KIND, "the key is empty", allowed);
            return Err(refused.on(self.key()));
        }
        let name = [self.name(), SEPARATOR, key].concat();
        let checked = ObjectName::new(&self.shared.client().options.key_prefix, &name);
        checked.map_err(|error| error.retold(LimitObject::KIND, format!("with this key, {}", error.message())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::client::Client;
    use crate::limit::Rate;
    use crate::wait::Wait;

    #[tokio::test]
    async fn nothing_is_kept_of_a_key_that_nobody_uses() {
        let client = Client::connect("memory://").await.unwrap();
        let api = client.rate_limiter("api", Rate::new(1, Duration::from_secs(3_600))).unwrap();
        let known = || api.shared.client().objects.all().len();
        let one = api.keyed("one").unwrap();
        assert_eq!(known(), 2);
        for number in 0..1_000 {
            let key = api.keyed(&number.to_string()).unwrap();
            assert!(key.try_acquire(1).await.unwrap().allowed);
            assert!(!key.acquire(1, Wait::For(Duration::from_millis(1))).await.unwrap().allowed);
        }
        let keys: Vec<(String, u64)> = (0..1_000).map(|number| (number.to_string(), 1)).collect();
        assert!(api.try_acquire_many(&keys).await.unwrap().iter().flatten().all(|decision| !decision.allowed));
        assert_eq!(known(), 2);
        drop(one);
        assert_eq!(known(), 1);
    }
}
