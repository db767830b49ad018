import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.libdlock.Client;
import org.libdlock.DistributedLockAll;
import org.libdlock.LockAllHandle;
import org.libdlock.LockOptions;
import org.libdlock.LostMember;

/** The verbs of several locks as one. The one holder of the process is the thread that reads the steps. */
final class LockAllVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final HoldVerbs holds;
    private final Map<String, DistributedLockAll> sets = new HashMap<>();

    LockAllVerbs(Map<String, Client> clients, HoldVerbs holds) {
        this.clients = clients;
        this.holds = holds;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("lock_all", this::open);
        all.put("take_all", this::take);
        all.put("token_of", step -> "token=" + held(step).token(step.object(1)));
        all.put("lost_of", step -> {
            LostMember lost = held(step).lostMember();
            return lost == null
                    ? "name=none lost=none"
                    : "name=" + lost.name() + " lost=" + lost.reason().name().toLowerCase(Locale.ROOT);
        });
        all.put("enter_all", this::enter);
        all.put("leave_all", step -> {
            named(step).unlock();
            return "";
        });
        all.put("entered_all", step -> "count=" + named(step).getHoldCount());
    }

    @Override
    public void forget() {
        sets.clear();
    }

    private DistributedLockAll named(Step step) {
        return sets.get(step.object(0));
    }

    private LockAllHandle held(Step step) {
        return (LockAllHandle) holds.hold(step);
    }

    private String open(Step step) {
        LockOptions options = LockOptions.defaults();
        if (step.options().containsKey("lease_ms")) {
            options = options.lease(step.millis("lease_ms"));
        }
        if (step.options().containsKey("watchdog_lease_ms")) {
            options = options.watchdogLease(step.millis("watchdog_lease_ms"));
        }
        if (step.options().containsKey("reentrant")) {
            options = options.reentrant(step.option("reentrant", "").equals("true"));
        }
        String given = step.option("names", "");
        List<String> names = given.isEmpty() ? List.of() : Arrays.asList(given.split(",", -1));
        DistributedLockAll set = clients.get(step.object(0)).lockAll(names, options);
        sets.put(step.object(1), set);
        return "count=" + set.names().size();
    }

    private String take(Step step) throws InterruptedException {
        LockAllHandle held = named(step).acquire(step.millis("wait_ms"), step.millis("lease_ms"));
        holds.keep(step.object(1), held);
        return "count=" + held.tokens().size();
    }

    private String enter(Step step) throws InterruptedException {
        if (!named(step).tryLock(step.millis("wait_ms"), null)) {
            throw new IllegalStateException("no scenario has this thread wait in vain: it is told by false, and not by an error");
        }
        return "";
    }
}
