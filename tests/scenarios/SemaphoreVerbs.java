import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.libdlock.Client;
import org.libdlock.DistributedSemaphore;
import org.libdlock.PermitsHandle;
import org.libdlock.SemaphoreInspection;
import org.libdlock.SemaphoreOptions;

/** The verbs of semaphores. */
final class SemaphoreVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final HoldVerbs holds;
    private final Map<String, DistributedSemaphore> semaphores = new HashMap<>();

    SemaphoreVerbs(Map<String, Client> clients, HoldVerbs holds) {
        this.clients = clients;
        this.holds = holds;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("semaphore", this::open);
        all.put("acquire", this::acquire);
        all.put("set_permits", step -> {
            named(step).setPermits(permits(step));
            return "";
        });
        all.put("inspect_permits", step -> {
            SemaphoreInspection seen = named(step).inspect();
            return "permits=" + (seen.permits().isPresent() ? seen.permits().getAsLong() : "none") + " available="
                    + seen.available() + " queued=" + seen.queued();
        });
    }

    @Override
    public void forget() {
        semaphores.clear();
    }

    private DistributedSemaphore named(Step step) {
        return semaphores.get(step.object(0));
    }

    /** One, if the step names no number. */
    private static int permits(Step step) {
        return Integer.parseInt(step.option("permits", "1"));
    }

    private String open(Step step) {
        SemaphoreOptions options = SemaphoreOptions.defaults();
        if (step.options().containsKey("lease_ms")) {
            options = options.lease(step.millis("lease_ms"));
        }
        if (step.options().containsKey("watchdog_lease_ms")) {
            options = options.watchdogLease(step.millis("watchdog_lease_ms"));
        }
        Client client = clients.get(step.object(0));
        semaphores.put(step.object(2), client.semaphore(step.object(1), permits(step), options));
        return "";
    }

    private String acquire(Step step) throws InterruptedException {
        PermitsHandle held = named(step).take(permits(step), step.millis("wait_ms"), step.millis("lease_ms"));
        holds.keep(step.object(1), held);
        List<String> ids = held.permits();
        return "permits=" + ids.size() + " ids=" + String.join(",", ids);
    }
}
