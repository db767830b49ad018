//! Which holds one script renews.

use super::*;

fn tokens(chunk: &Chunk) -> Vec<u64> {
    chunk.holds.iter().map(|(grant, _)| grant.token()).collect()
}

#[tokio::test]
async fn a_chunk_has_holds_of_one_kind_and_the_earliest_is_first() {
    let world = World::new().await;
    let number = |at: u64| {
        world.clock.advance(Duration::from_millis(1));
        at
    };
    let _held = [
        world.hold_permit(number(1)),
        world.hold(number(2)),
        world.hold_permit(number(3)),
        world.hold(number(4)),
        world.hold_permit(number(5)),
        world.hold_permit(number(6)),
        world.hold(number(7)),
    ];
    world.clock.advance(INTERVAL);
    let due: Vec<_> = world.keeper.due(&world.backend).iter().map(tokens).collect();
    assert_eq!(due, [vec![1, 3, 5], vec![2, 4, 7], vec![6]]);
}

/// A script that works on all permits of many large holds would hold the server up, until their renewals fail.
#[tokio::test]
async fn a_chunk_has_many_small_holds_or_few_large_ones() {
    let world = World::new().await;
    let mut number = 0;
    let mut hold = |permits| {
        world.clock.advance(INTERVAL / 1_000);
        number += 1;
        world.hold_permits(number, permits)
    };
    let _held: Vec<Grant> = [10_000, 10_000, 30, 20, 30, 21].into_iter().chain([1; 60]).map(&mut hold).collect();
    world.clock.advance(INTERVAL);
    let due = world.keeper.due(&world.backend);
    let holds: Vec<_> = due.iter().map(|chunk| chunk.holds.len()).collect();
    assert_eq!(holds, [1, 1, 2, 1, 30, 31]);
    let sizes: Vec<_> = due.iter().map(Chunk::size).collect();
    assert_eq!(sizes, [200, 200, 1, 1, 1, 1]);
}

#[tokio::test]
async fn what_is_due_soon_and_too_large_fills_no_chunk_up() {
    let world = World::new().await;
    let _due = world.hold_permits(1, 10);
    world.clock.advance(INTERVAL / 100);
    let _soon = [world.hold_permits(2, 10_000), world.hold_permits(3, 40)];
    world.clock.advance(INTERVAL - INTERVAL / 100);
    let due: Vec<_> = world.keeper.due(&world.backend).iter().map(tokens).collect();
    assert_eq!(due, [vec![1, 3]]);
}

#[tokio::test]
async fn a_chunk_is_filled_up_with_holds_of_its_own_kind() {
    let world = World::new().await;
    let soon = |at: u64| {
        world.clock.advance(INTERVAL / 100);
        at
    };
    let _due = [world.hold(1), world.hold_permit(soon(2))];
    let _soon = [
        world.hold(soon(3)),
        world.hold_permit(soon(4)),
        world.hold(soon(5)),
        world.hold_permit(soon(6)),
        world.hold_permit(soon(7)),
    ];
    world.clock.advance(INTERVAL - INTERVAL * 5 / 100);
    let due: Vec<_> = world.keeper.due(&world.backend).iter().map(tokens).collect();
    assert_eq!(due, [vec![1, 3, 5], vec![2, 4, 6]]);
    assert_eq!(world.run_for(INTERVAL / 10), (1, 1), "what found no room comes in its own time");
}

#[tokio::test]
async fn what_is_due_soon_fills_a_chunk_up_and_chunks_stay_full() {
    let world = World::new().await;
    let holds: Vec<Grant> = (0..10_000)
        .map(|number| {
            world.clock.advance(INTERVAL / 10_000);
            world.hold(number)
        })
        .collect();
    let (scripts, _) = world.run_for(INTERVAL);
    assert!(scripts <= 110, "{scripts} scripts for the first renewals of 10,000");
    for _ in 0..5 {
        assert_eq!(world.run_for(INTERVAL), (100, 10_000));
    }
    // One more, and the full chunks stay as they are; two that lack some become one.
    let _odd = world.hold(10_000);
    for _ in 0..5 {
        assert_eq!(world.run_for(INTERVAL), (101, 10_001));
    }
    assert!(holds.iter().all(|grant| grant.state() == HoldState::Held));
}

#[tokio::test]
async fn a_renewal_comes_early_by_a_tenth_of_its_interval_at_most() {
    let world = World::new().await;
    let _first = world.hold(1);
    world.clock.advance(INTERVAL / 10);
    let _second = world.hold(2);
    world.clock.advance(Duration::from_millis(1));
    let _third = world.hold(3);
    world.clock.advance(INTERVAL - INTERVAL / 10 - Duration::from_millis(1));
    let due: Vec<u64> = world.due().iter().map(|(grant, _)| grant.token()).collect();
    assert_eq!(due, [1, 2]);
}

#[tokio::test]
async fn a_failed_renewal_fills_no_other_chunk_before_its_time() {
    let world = World::new().await;
    let _failed = world.hold(1);
    world.clock.advance(Duration::from_millis(500));
    let _other = world.hold(2);
    world.clock.advance(INTERVAL - Duration::from_millis(500));
    let due = world.keeper.0.lock().take_due(world.now(), |_| 0).chunks.remove(0).holds;
    assert_eq!(due.len(), 1, "before anything fills it up");
    world.keeper.ask_again(due.iter(), |_| LONGEST_RETRY);
    world.clock.advance(Duration::from_millis(500));
    let due = world.due();
    assert_eq!(due.iter().map(|(grant, _)| grant.token()).collect::<Vec<_>>(), [2]);
}
