//! How long after its due time a job is delivered, and how many requests waiting for jobs costs.

use std::time::{Duration, Instant, SystemTime};

use libdlock::queue::NewJob;
use libdlock::{Client, Queue};
use libdlock_faults::{SOON, bounded, client, slack};
use libdlock_testkit::{Server, eventually};
use tokio::task::JoinSet;

/// The server's own commands that scripts are sent by.
fn scripts(server: &Server) -> u64 {
    ["cmdstat_evalsha:calls", "cmdstat_eval:calls"].map(|of| server.info("commandstats", of)).iter().sum()
}

/// So many clients, each of which is to the server what a process is.
async fn clients(server: &Server, count: usize) -> Vec<(Client, Queue)> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let client = client(&server.url()).await;
        let queue = client.queue("mails").expect("a name");
        clients.push((client, queue));
    }
    clients
}

fn waiters(server: &Server) -> i64 {
    server.cmd(&["ZCARD", "dlock_queue_queue:{mails}"]).int()
}

/// The head sleeps for as long as the next job needs, also when that is a few ms. It is the half of the deliveries that has to be
/// on time here: what makes the others late is this machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_consumer_has_a_job_when_it_is_due() {
    const JOBS: usize = 300;
    const MOST: Duration = Duration::from_millis(5);
    let server = Server::start();
    let (producer, consumer) = (client(&server.url()).await, client(&server.url()).await);
    let (put, take) = (producer.queue("mails").expect("a name"), consumer.queue("mails").expect("a name"));
    let (mut late, mut trips) = (Vec::new(), Vec::new());
    for round in 0..JOBS {
        let taking = tokio::spawn({
            let take = take.clone();
            async move { take.take().await.map(|delivery| (delivery, SystemTime::now())) }
        });
        eventually(SOON, "it waits", || waiters(&server) == 1);
        let delay = Duration::from_millis(1 + round as u64 % 18);
        let asked = Instant::now();
        put.put(NewJob::new("x").delay(delay)).await.expect("put");
        trips.push(asked.elapsed());
        let (delivery, at) = bounded(SOON, "it is due", taking).await.expect("no panic").expect("take");
        // By one clock: the server's is this machine's.
        late.push(at.duration_since(delivery.due()).expect("not before its time"));
        delivery.ack().await.expect("ack");
    }
    late.sort();
    trips.sort();
    let of = |times: &[Duration], percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let round_trip = of(&trips, 50);
    println!(
        "after the due time: p50 {:?}, p90 {:?}, p99 {:?}, longest {:?}; a put takes {round_trip:?}",
        of(&late, 50),
        of(&late, 90),
        of(&late, 99),
        of(&late, 100)
    );
    assert!(of(&late, 50) <= MOST + round_trip, "half of them came {:?} late or later", of(&late, 50));
}

/// The floor: a put, a request that joins the queue, one that takes the job when a message or the time says so, and the
/// acknowledgement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_to_one_of_many_processes_costs_few_scripts() {
    const PROCESSES: usize = 64;
    const JOBS: u64 = 640;
    let server = Server::start();
    let producer = client(&server.url()).await.queue("mails").expect("a name");
    let clients = clients(&server, PROCESSES).await;
    let mut consumers = JoinSet::new();
    for (_, queue) in &clients {
        let queue = queue.clone();
        consumers.spawn(async move {
            while let Ok(delivery) = queue.take().await {
                delivery.ack().await.expect("ack");
            }
        });
    }
    eventually(SOON, "all wait", || waiters(&server) == PROCESSES as i64);
    let (before, began) = (scripts(&server), Instant::now());
    for job in 0..JOBS {
        producer.put(NewJob::new("x").delay(Duration::from_millis(20))).await.expect("put");
        eventually(SOON, "it is done", || server.cmd(&["HLEN", "dlock_queue_all:{mails}"]).int() == 0);
        // Those that wait look from time to time, however many jobs come.
        if job % 64 == 63 {
            eventually(SOON, "all wait again", || waiters(&server) == PROCESSES as i64);
        }
    }
    // 0.8 times the usual intervals.
    let seconds = began.elapsed().as_secs_f64();
    let polls = seconds * (2.0 / 0.8 + PROCESSES as f64 / 4.0);
    let sent = (scripts(&server) - before) as f64;
    let each = (sent - polls).max(0.0) / JOBS as f64 - 4.0;
    println!(
        "{sent} scripts for {JOBS} deliveries in {seconds:.1} s, at most {polls:.0} of them polls: {each:.2} each beyond the floor"
    );
    assert!(each <= 1.2, "{each:.2} scripts each");
    consumers.shutdown().await;
}

/// What an empty queue costs: looks of those that wait, the first two once a second, the others once in five, and no other command.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_consumers_ask_seldom() {
    const PROCESSES: usize = 128;
    const SECONDS: u64 = 12;
    let server = Server::start();
    let clients = clients(&server, PROCESSES).await;
    let mut consumers = JoinSet::new();
    for (_, queue) in &clients {
        let queue = queue.clone();
        consumers.spawn(async move { queue.take().await.map(drop) });
    }
    eventually(SOON, "all wait", || waiters(&server) == PROCESSES as i64);
    let others = || {
        let stats = server.cmd(&["INFO", "commandstats"]);
        let calls = |line: &str| line.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok();
        let ours = |line: &&str| ["subscribe", "unsubscribe", "hello", "client"].iter().any(|of| line.contains(of));
        stats.text().lines().filter(ours).filter_map(calls).sum::<u64>()
    };
    // What the joining has started.
    tokio::time::sleep(slack() * 2).await;
    let (before, other) = (scripts(&server), others());
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    let (sent, other) = (scripts(&server) - before, others() - other);
    let each = sent as f64 / SECONDS as f64 / PROCESSES as f64;
    println!(
        "{sent} scripts and {other} other commands of {PROCESSES} waiting processes in {SECONDS} s: {each:.2} a second and process"
    );
    let most = SECONDS as f64 * (2.0 / 0.8 + PROCESSES as f64 / 4.0) + PROCESSES as f64;
    assert!(sent as f64 <= most && other == 0, "{sent} scripts, {most:.0} at most, and {other} other commands");
    consumers.shutdown().await;
}
