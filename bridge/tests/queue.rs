//! Operations on queues, on `memory://`.

use std::time::{Duration, Instant};

use libdlock::{ErrorKind, Result};
use libdlock_bridge::ops::{self, Delivered, Deliveries, JobArgs, QueueArgs};
use libdlock_bridge::{Handle, HandleKind, Outcome, State, What, enter};

fn queue_with(state: &'static State, name: &str, how: QueueArgs) -> (Handle, Handle) {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    (client, ops::queue_open(state, client, name.as_bytes(), how).unwrap())
}

fn queue(state: &'static State, name: &str) -> Handle {
    queue_with(state, name, QueueArgs::default()).1
}

fn job(payload: &[u8]) -> JobArgs {
    JobArgs { payload: payload.to_vec(), ..JobArgs::default() }
}

fn put(state: &'static State, queue: Handle, job: JobArgs) -> Result<ops::Put> {
    state.wait(ops::queue_put(state, queue, job), None)
}

fn take(state: &'static State, queue: Handle, wait_ms: i64) -> Option<Delivered> {
    state.wait(ops::queue_take(state, queue, Some(wait_ms)), None).unwrap()
}

fn ack(state: &'static State, delivered: &Delivered) -> Result<(), ErrorKind> {
    state.wait(ops::delivery_ack(state, delivered.held.handle), None).map_err(|error| error.kind())
}

fn nack(state: &'static State, delivered: &Delivered, delay_ms: Option<i64>, reason: &[u8]) -> Result<()> {
    state.wait(ops::delivery_nack(state, delivered.held.handle, delay_ms, reason.to_vec()), None)
}

/// The next delivery, within ten seconds.
fn comes(state: &'static State, queue: Handle) -> Delivered {
    take(state, queue, 10_000).expect("a job within ten seconds")
}

#[test]
fn a_job_is_put_delivered_and_acknowledged() {
    let state = enter().unwrap();
    let jobs = queue(state, "jobs");
    assert_eq!((ops::queue_name(state, jobs).unwrap(), ops::queue_key(state, jobs).unwrap()), {
        ("jobs".to_owned(), "jobs".to_owned())
    });
    assert_eq!(take(state, jobs, 0), None);
    let named = JobArgs { id: Some(b"one".to_vec()), priority: 7, at_ms: Some(5_000), ..job(b"\0\xff") };
    assert_eq!(put(state, jobs, named.clone()).unwrap(), ops::Put { id: "one".to_owned(), is_new: true });
    assert!(!put(state, jobs, named).unwrap().is_new);
    let delivered = take(state, jobs, 0).unwrap();
    let read = ops::delivery_job(state, delivered.held.handle).unwrap();
    assert_eq!(read, delivered.job);
    assert_eq!((read.payload(), read.id(), read.attempt()), (b"\0\xff".as_slice(), "one", 1));
    assert_eq!((read.due_ms(), read.priority()), (5_000, 7));
    assert!(delivered.held.token > 0 && ops::held_valid(state, delivered.held.handle).unwrap());
    state.wait(ops::held_extend(state, delivered.held.handle, 90_000), None).unwrap();
    assert!(ops::held_remaining(state, delivered.held.handle).unwrap() > Duration::from_secs(60));
    assert_eq!(ack(state, &delivered), Ok(()));
    assert_eq!(ack(state, &delivered), Err(ErrorKind::NotHeld));
    let over = ops::held_wait_lost(state, delivered.held.handle, Some(0));
    assert_eq!(state.wait(over, None).unwrap(), None);
    state.free(HandleKind::Held, delivered.held.handle).unwrap();
    assert_eq!(ack(state, &delivered), Err(ErrorKind::Closed));
    assert_eq!(take(state, jobs, 0), None);
}

#[test]
fn a_nack_puts_the_job_back_and_counts() {
    let state = enter().unwrap();
    let jobs = queue(state, "nack");
    put(state, jobs, job(b"a")).unwrap();
    let first = comes(state, jobs);
    assert_eq!(nack(state, &first, Some(-1), b"").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(nack(state, &first, Some(i64::MAX), b"").unwrap_err().allowed(), Some("0 to 100 years"));
    assert_eq!(nack(state, &first, None, b"\xff").unwrap_err().kind(), ErrorKind::InvalidArgument);
    nack(state, &first, None, "no s\u{fc}ch page".as_bytes()).unwrap();
    let second = comes(state, jobs);
    assert_eq!(second.job.attempt(), 2);
    nack(state, &second, Some(60_000), b"later").unwrap();
    assert_eq!(take(state, jobs, 0), None);
}

#[test]
fn a_job_that_was_not_begun_goes_back_uncounted() {
    let state = enter().unwrap();
    let jobs = queue(state, "back");
    put(state, jobs, job(b"a")).unwrap();
    let first = comes(state, jobs);
    state.wait(ops::delivery_give_back(state, first.held.handle), None).unwrap();
    let again = state.wait(ops::delivery_give_back(state, first.held.handle), None);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(comes(state, jobs).job.attempt(), 1);
}

#[test]
fn a_handle_that_is_given_up_puts_its_job_back() {
    let state = enter().unwrap();
    let jobs = queue(state, "freed");
    put(state, jobs, job(b"a")).unwrap();
    let first = comes(state, jobs);
    state.free(HandleKind::Held, first.held.handle).unwrap();
    assert_eq!(take(state, jobs, 0), None, "what was delivered is still being read");
    drop(first);
    assert_eq!(comes(state, jobs).job.attempt(), 2);
}

#[test]
fn jobs_are_put_and_taken_together() {
    let state = enter().unwrap();
    let jobs = queue(state, "together");
    let many = (0..250).map(|number: u8| job(&[number])).collect();
    let puts = state.wait(ops::queue_put_many(state, jobs, many), None).unwrap();
    assert_eq!((puts.0.len(), puts.0.iter().filter(|put| put.is_new).count()), (250, 250));
    let Deliveries(taken) = state.wait(ops::queue_take_many(state, jobs, 100, Some(0)), None).unwrap();
    assert_eq!(taken.iter().map(|taken| taken.job.payload()[0]).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    assert!(taken.iter().all(|taken| ack(state, taken).is_ok()));
    for most in [-1, 0, 101, i64::MAX] {
        let error = state.wait(ops::queue_take_many(state, jobs, most, Some(0)), None).unwrap_err();
        assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some("1 to 100")));
    }
}

#[test]
fn what_waits_is_listed_counted_cancelled_and_purged() {
    let state = enter().unwrap();
    let jobs = queue(state, "lists");
    for (id, delay_ms) in [("a", 0), ("b", 0), ("c", 60_000), ("d", 90_000)] {
        let named = JobArgs { id: Some(id.into()), delay_ms: Some(delay_ms), ..job(id.as_bytes()) };
        put(state, jobs, named).unwrap();
    }
    let first = comes(state, jobs);
    let counts = state.wait(ops::queue_counts(state, jobs), None).unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.in_flight, counts.dead, counts.waiters), (1, 2, 1, 0, 0));
    let listed = state.wait(ops::queue_peek(state, jobs, 2), None).unwrap().0;
    let of = |job: &ops::ListedJob| (job.id.clone(), job.payload.clone(), job.attempts, job.dead.clone());
    assert_eq!(
        listed.iter().map(of).collect::<Vec<_>>(),
        [("b".to_owned(), b"b".to_vec(), 0, None), ("c".to_owned(), b"c".to_vec(), 0, None)]
    );
    assert!(listed[1].due_ms > listed[0].due_ms + 50_000);
    let cancel = |id: &[u8]| state.wait(ops::queue_cancel(state, jobs, id.to_vec()), None);
    assert_eq!(cancel(b"a").unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(cancel(b"\xff").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(cancel(b"b").unwrap() && !cancel(b"b").unwrap() && !cancel(b"").unwrap());
    assert_eq!(state.wait(ops::queue_purge(state, jobs), None).unwrap(), 2);
    assert_eq!(ack(state, &first), Ok(()));
    for most in [-1, 0, 1_001, i64::MAX] {
        for listed in
            [state.wait(ops::queue_peek(state, jobs, most), None), state.wait(ops::queue_dead(state, jobs, most), None)]
        {
            let error = listed.unwrap_err();
            assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some("1 to 1000")), "{error}");
        }
    }
}

#[test]
fn a_kept_list_is_read_until_it_is_given_up() {
    let state = enter().unwrap();
    let jobs = queue(state, "kept");
    put(state, jobs, job(b"a")).unwrap();
    let listed = state.wait(ops::queue_peek(state, jobs, 10), None).unwrap();
    let kept = ops::listed_jobs_keep(state, listed.clone()).unwrap();
    assert_eq!(HandleKind::of_handle(kept), Some(HandleKind::ListedJobs));
    let read = ops::listed_jobs(state, kept).unwrap();
    assert_eq!(*read, listed);
    state.free(HandleKind::ListedJobs, kept).unwrap();
    assert_eq!(ops::listed_jobs(state, kept).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(ops::listed_jobs(state, jobs).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(read.0[0].payload, b"a");
}

#[test]
fn dead_jobs_are_listed_requeued_and_removed() {
    let state = enter().unwrap();
    let (_, jobs) = queue_with(state, "dead", QueueArgs { max_attempts: Some(1), ..QueueArgs::default() });
    let die = |count| {
        for _ in 0..count {
            nack(state, &comes(state, jobs), None, b"no such page").unwrap();
        }
    };
    for id in ["a", "b", "c"] {
        put(state, jobs, JobArgs { id: Some(id.into()), ..job(id.as_bytes()) }).unwrap();
    }
    die(3);
    let dead = || state.wait(ops::queue_dead(state, jobs, 10), None).unwrap().0;
    let (since, reason) = dead()[0].dead.clone().unwrap();
    assert_eq!((dead().len(), dead()[0].attempts, reason.as_str()), (3, 1, "no such page"));
    assert!(since >= dead()[0].due_ms);
    let requeue = |id: &str| state.wait(ops::queue_requeue_dead(state, jobs, id.into()), None).unwrap();
    assert!(requeue("a") && !requeue("a"));
    die(1);
    let remove = |id: &str| state.wait(ops::queue_remove_dead(state, jobs, id.into()), None).unwrap();
    assert!(remove("b") && !remove("b"));
    assert_eq!(state.wait(ops::queue_requeue_all_dead(state, jobs), None).unwrap(), 2);
    die(2);
    assert_eq!(state.wait(ops::queue_purge_dead(state, jobs), None).unwrap(), 2);
    assert!(dead().is_empty());
}

#[test]
fn values_that_no_job_has_are_refused() {
    let state = enter().unwrap();
    let (client, jobs) = queue_with(state, "values", QueueArgs { max_payload: Some(3), ..QueueArgs::default() });
    let wrong = [
        (job(b"four"), "0 to 3 bytes"),
        (JobArgs { id: Some(Vec::new()), ..job(b"") }, "1 to 512 bytes"),
        (JobArgs { id: Some(vec![b'x'; 513]), ..job(b"") }, "1 to 512 bytes"),
        (JobArgs { delay_ms: Some(-1), ..job(b"") }, "0 to 100 years"),
        (JobArgs { delay_ms: Some(i64::MAX), ..job(b"") }, "0 to 100 years"),
        (JobArgs { at_ms: Some(i64::MAX), ..job(b"") }, "until the year 2269"),
        (JobArgs { at_ms: Some(0), delay_ms: Some(0), ..job(b"") }, "one of them"),
        (JobArgs { priority: 32_768, ..job(b"") }, "-32768 to 32767"),
    ];
    for (wrong, allowed) in wrong {
        let error = put(state, jobs, wrong).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("values")), "{error}");
        assert!(error.allowed().unwrap().contains(allowed), "{error}");
    }
    let bad_id = JobArgs { id: Some(b"\xff".to_vec()), ..job(b"") };
    assert_eq!(put(state, jobs, bad_id).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(put(state, jobs, JobArgs { at_ms: Some(-1), priority: -32_768, ..job(b"") }).unwrap().is_new);
    let none = QueueArgs::default();
    for (how, allowed) in [
        (QueueArgs { max_attempts: Some(0), ..none }, "1 to 1000000"),
        (QueueArgs { max_attempts: Some(-1), ..none }, "1 to 1000000"),
        (QueueArgs { max_attempts: Some(i64::MAX), ..none }, "1 to 1000000"),
        (QueueArgs { max_payload: Some(i64::MAX), ..none }, "0 to 2097152"),
        (QueueArgs { max_length: Some(-1), ..none }, "0 or more"),
        (QueueArgs { lease_ms: Some(1), ..none }, "100 ms"),
        (QueueArgs { lease_ms: Some(1_000), watchdog_lease_ms: Some(1_000), ..none }, "one of them"),
    ] {
        let error = ops::queue_open(state, client, b"values", how).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("values")), "{error}");
        assert!(error.allowed().unwrap().contains(allowed), "{error}");
    }
    assert_eq!(ops::queue_open(state, client, b"a{", none).unwrap_err().kind(), ErrorKind::InvalidName);
}

#[test]
fn a_back_off_is_between_half_of_it_and_all() {
    for (attempt, full) in [(1, 100), (2, 200), (5, 1_000), (i64::MAX, 1_000)] {
        assert!((full / 2..=full).contains(&ops::backoff_ms(attempt, 100, 1_000).unwrap()));
    }
    for (attempt, base, most) in [(-1, 1, 1), (1, -1, 1), (1, 0, -1), (1, 2, 1)] {
        let error = ops::backoff_ms(attempt, base, most).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_full_queue_takes_no_more() {
    let state = enter().unwrap();
    let (_, jobs) = queue_with(state, "full", QueueArgs { max_length: Some(1), ..QueueArgs::default() });
    put(state, jobs, job(b"a")).unwrap();
    assert_eq!(put(state, jobs, job(b"b")).unwrap_err().kind(), ErrorKind::Full);
}

#[test]
fn a_delivery_is_no_lock() {
    let state = enter().unwrap();
    let (client, jobs) = queue_with(state, "no lock", QueueArgs::default());
    put(state, jobs, job(b"a")).unwrap();
    let delivered = comes(state, jobs);
    let held = delivered.held.handle;
    for refused in [
        ops::held_reenter(state, held),
        state.wait(ops::held_release(state, held), None),
        state.wait(ops::held_detach(state, held), None).map(drop),
        state.wait(ops::held_downgrade(state, held), None).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("no lock")), "{error}");
    }
    assert_eq!(ack(state, &delivered), Ok(()), "it is held as before");
    let lock = ops::lock_open(state, client, b"a lock", None, None, None).unwrap();
    let locked = ops::lock_acquire(state, lock, ops::Holding::ByHandle, Some(0), None);
    let locked = state.wait(locked, None).unwrap();
    assert_eq!(ops::delivery_job(state, locked.handle).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let acked = state.wait(ops::delivery_ack(state, locked.handle), None);
    assert_eq!(acked.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn deliveries_that_nobody_drained_go_back_uncounted() {
    let state = enter().unwrap();
    let jobs = queue(state, "undrained");
    let many = [b"a", b"b", b"c"].map(|payload| job(payload)).into();
    state.wait(ops::queue_put_many(state, jobs, many), None).unwrap();
    let port = state.port_new().unwrap();
    state.submit(port, 1, ops::queue_take(state, jobs, None)).unwrap();
    state.submit(port, 2, ops::queue_take_many(state, jobs, 10, None)).unwrap();
    let begun = Instant::now();
    while take(state, jobs, 0).is_some() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the port takes all of them");
    }
    state.free(HandleKind::Port, port).unwrap();
    let ids = [comes(state, jobs), comes(state, jobs), comes(state, jobs)];
    assert!(ids.iter().all(|delivered| delivered.job.attempt() == 1), "{ids:?}");
}

#[test]
fn a_drained_delivery_stays_with_the_host() {
    let state = enter().unwrap();
    let jobs = queue(state, "drained");
    let port = state.port_new().unwrap();
    state.submit(port, 7, ops::queue_take(state, jobs, None)).unwrap();
    put(state, jobs, job(b"a")).unwrap();
    let begun = Instant::now();
    let mut done = Vec::new();
    while done.is_empty() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
        done = state.drain(port, 8).unwrap();
    }
    let [completion] = &done[..] else { panic!("{done:?}") };
    let What::Done(Ok(Outcome::Deliveries(Deliveries(taken)))) = &completion.what else { panic!("{completion:?}") };
    let held = taken[0].held.handle;
    drop(done);
    state.free(HandleKind::Port, port).unwrap();
    assert_eq!(take(state, jobs, 50), None);
    state.wait(ops::delivery_ack(state, held), None).unwrap();
}

#[test]
fn a_cancelled_take_leaves_no_delivery_behind() {
    let state = enter().unwrap();
    let jobs = queue(state, "cancelled");
    let port = state.port_new().unwrap();
    let op = state.submit(port, 1, ops::queue_take(state, jobs, None)).unwrap();
    assert!(state.cancel(op).unwrap());
    put(state, jobs, job(b"a")).unwrap();
    assert_eq!(comes(state, jobs).job.attempt(), 1, "nobody stands before it");
}

#[test]
fn a_queue_of_a_closed_client_says_so() {
    let state = enter().unwrap();
    let (client, jobs) = queue_with(state, "closed", QueueArgs::default());
    put(state, jobs, job(b"a")).unwrap();
    let delivered = comes(state, jobs);
    let waiter = std::thread::spawn(move || state.wait(ops::queue_take(state, jobs, None), None).map(drop));
    std::thread::sleep(Duration::from_millis(20));
    state.wait(ops::client_close(state, client, false), None).unwrap();
    assert_eq!(waiter.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(put(state, jobs, job(b"b")).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(ack(state, &delivered), Err(ErrorKind::Closed));
    let opened = ops::queue_open(state, client, b"closed", QueueArgs::default());
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::Closed);
}
