//! A deployment of sentinels fails over, and is then as it was.

use std::time::Duration;

use libdlock_testkit::Sentinels;

#[test]
fn another_server_is_promoted_and_the_former_follows_it() {
    let deployment = Sentinels::start();
    let before = deployment.master();
    deployment.fail_over();
    let promotion = deployment.promotion(before, Duration::from_secs(30));
    assert_ne!(promotion.node, before);
    deployment.settle();
    assert_eq!(deployment.master(), promotion.node);
    assert!(deployment.nodes[promotion.node].is_master() && !deployment.nodes[before].is_master());
}
