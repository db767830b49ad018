import java.time.Duration;
import java.util.Map;
import org.libdlock.Client;
import org.libdlock.Inspection;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;

/** The verbs of locks. */
final class LockVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final HoldVerbs holds;

    LockVerbs(Map<String, Client> clients, HoldVerbs holds) {
        this.clients = clients;
        this.holds = holds;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("take", this::take);
        all.put(
                "attach",
                step -> kept(
                        step.object(2),
                        client(step).lock(step.object(1)).attachAsync(step.options().get("text")).join()));
        all.put("inspect", this::inspect);
        all.put("force", step -> "was_held=" + client(step).lock(step.object(1)).forceRelease());
    }

    @Override
    public void forget() {}

    private Client client(Step step) {
        return clients.get(step.object(0));
    }

    private String kept(String name, LockHandle hold) {
        holds.keep(name, hold);
        return "token=" + hold.token() + " owner=" + hold.owner();
    }

    private String take(Step step) throws InterruptedException {
        LockOptions options = LockOptions.defaults();
        if (step.options().containsKey("lease_ms")) {
            options = options.lease(step.millis("lease_ms"));
        }
        if (step.options().containsKey("watchdog_lease_ms")) {
            options = options.watchdogLease(step.millis("watchdog_lease_ms"));
        }
        return kept(step.object(2), client(step).lock(step.object(1), options).acquire(step.millis("wait_ms"), null));
    }

    private String inspect(Step step) {
        Inspection seen = client(step).lock(step.object(1)).inspect();
        Duration ttl = seen.ttl();
        return "held=" + (seen.holder() != null) + " holder=" + (seen.holder() == null ? "none" : seen.holder()) + " ours=" + seen.ours() + " ttl_ms="
                + (ttl == null ? "none" : ttl.toMillis()) + " token="
                + (seen.token().isPresent() ? seen.token().getAsLong() : "none") + " queued=" + seen.queued();
    }
}
