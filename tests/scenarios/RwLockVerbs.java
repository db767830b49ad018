import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.libdlock.Client;
import org.libdlock.DistributedReadWriteLock;
import org.libdlock.RwLockHandle;
import org.libdlock.RwLockInspection;
import org.libdlock.RwLockOptions;
import org.libdlock.RwLockSide;

/** The verbs of read-write locks. The one holder of the process is the thread that reads the steps. */
final class RwLockVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final HoldVerbs holds;
    private final Map<String, DistributedReadWriteLock> locks = new HashMap<>();

    RwLockVerbs(Map<String, Client> clients, HoldVerbs holds) {
        this.clients = clients;
        this.holds = holds;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("rw_lock", this::open);
        all.put("read", step -> take(named(step).readLock(), step));
        all.put("write", step -> take(named(step).writeLock(), step));
        all.put("downgrade", step -> kept(step.object(1), ((RwLockHandle) holds.hold(step)).downgrade()));
        all.put("enter", this::enter);
        all.put("leave", step -> {
            side(step).unlock();
            return "";
        });
        all.put("entered", step -> "count=" + side(step).getHoldCount());
        all.put("step_down", this::stepDown);
        all.put("inspect_rw", this::inspect);
        all.put("force_rw", step -> "was_held=" + named(step).forceRelease());
    }

    @Override
    public void forget() {
        locks.clear();
    }

    private DistributedReadWriteLock named(Step step) {
        return locks.get(step.object(0));
    }

    private RwLockSide side(Step step) {
        return step.option("side", "").equals("write") ? named(step).writeLock() : named(step).readLock();
    }

    private String open(Step step) {
        RwLockOptions options = RwLockOptions.defaults();
        if (step.options().containsKey("lease_ms")) {
            options = options.lease(step.millis("lease_ms"));
        }
        if (step.options().containsKey("watchdog_lease_ms")) {
            options = options.watchdogLease(step.millis("watchdog_lease_ms"));
        }
        if (step.options().containsKey("reentrant")) {
            options = options.reentrant(step.option("reentrant", "").equals("true"));
        }
        if (step.options().containsKey("shared_age_ms")) {
            options = options.sharedAge(step.millis("shared_age_ms"));
        }
        locks.put(step.object(2), clients.get(step.object(0)).rwLock(step.object(1), options));
        return "";
    }

    private String take(RwLockSide side, Step step) throws InterruptedException {
        return kept(step.object(1), side.acquire(step.millis("wait_ms"), null));
    }

    private String kept(String name, RwLockHandle hold) {
        holds.keep(name, hold);
        return "token=" + hold.token() + " owner=" + hold.owner();
    }

    private String enter(Step step) throws InterruptedException {
        RwLockSide side = side(step);
        if (!side.tryLock(step.millis("wait_ms"), null)) {
            throw new IllegalStateException("no scenario has this thread wait in vain: it is told by false, and not by an error");
        }
        return "token=" + side.token();
    }

    /** As the users of the JDK's lock write it. */
    private String stepDown(Step step) {
        DistributedReadWriteLock lock = named(step);
        lock.readLock().lock();
        boolean reads = false;
        try {
            lock.writeLock().unlock();
            reads = true;
            return "token=" + lock.readLock().token();
        } finally {
            if (!reads) {
                lock.readLock().unlock();
            }
        }
    }

    private String inspect(Step step) {
        RwLockInspection seen = named(step).inspect();
        Duration ttl = seen.ttl();
        return "writer=" + (seen.writer() == null ? "none" : seen.writer()) + " ours=" + seen.ours() + " readers="
                + seen.readers() + " ttl_ms=" + (ttl == null ? "none" : ttl.toMillis()) + " token="
                + (seen.token().isPresent() ? seen.token().getAsLong() : "none") + " queued=" + seen.queued();
    }
}
