//! Which options go with several independent servers.

use super::{Options, Target, invalid, refused};
use crate::error::Result;

/// Refuses a lease that is longer than the servers' `longest_lease`, and replicas, which independent servers do not have.
pub(super) fn check(target: &Target, options: &Options) -> Result<()> {
    match target {
        Target::Quorum(_) if options.replicas > 0 => Err(invalid(
            "option replicas: a majority of independent servers grants a lock, and none of them may have a replica that takes its \
             place; leave the option out, or name more servers",
        )),
        Target::Quorum(_) if options.lease > options.longest_lease => {
            let what = format_args!("option lease: {:?} is longer than longest_lease", options.lease);
            Err(refused(what, format!("up to {:?}, which is longest_lease", options.longest_lease)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn independent_servers_have_no_replicas() {
        let refused = Config::from_url("redis+quorum://a,b,c?replicas=1").unwrap().check().unwrap_err();
        assert!(refused.message().starts_with("option replicas: a majority of independent servers"), "{refused}");
    }

    #[test]
    fn a_lease_beyond_the_longest_lease_is_refused() {
        let check = |url: &str| Config::from_url(url).unwrap().check().map_err(|error| error.message().to_owned());
        let refused = check("redis+quorum://a,b,c?lease=61s").unwrap_err();
        assert!(refused.contains("lease: 61s is longer than longest_lease; allowed: up to 60s"), "{refused}");
        for accepted in
            ["redis+quorum://a,b,c?lease=60s", "redis+quorum://a,b,c?lease=2m&longest_lease=2m", "redis://a?lease=2m"]
        {
            assert_eq!(check(accepted), Ok(()), "{accepted}");
        }
    }
}
