import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.libdlock.Client;
import org.libdlock.Inspection;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;
import org.libdlock.LockStats;
import org.libdlock.LossReason;

/** The verbs of locks and their holds. */
final class LockVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, LockHandle> holds = new HashMap<>();

    LockVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("take", this::take);
        all.put(
                "attach",
                step -> kept(
                        step.object(2),
                        client(step).lock(step.object(1)).attachAsync(step.options().get("text")).join()));
        all.put("release", step -> {
            hold(step).release();
            return "";
        });
        all.put("extend", step -> {
            hold(step).extend(step.millis("lease_ms"));
            return "";
        });
        all.put("detach", step -> "text=" + hold(step).detach());
        all.put("see", step -> see(hold(step)));
        all.put("wait_lost", step -> "lost=" + lost(hold(step), step.number("wait_ms")));
        all.put("inspect", this::inspect);
        all.put("counted", step -> counted(client(step).stats().lock()));
        all.put("force", step -> "was_held=" + client(step).lock(step.object(1)).forceRelease());
    }

    @Override
    public void forget() {
        holds.clear();
    }

    private Client client(Step step) {
        return clients.get(step.object(0));
    }

    private LockHandle hold(Step step) {
        return holds.get(step.object(0));
    }

    private String kept(String name, LockHandle hold) {
        holds.put(name, hold);
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

    private static String word(LossReason reason) {
        return reason == null ? "none" : reason.name().toLowerCase(Locale.ROOT);
    }

    private static String lost(LockHandle hold, long waitMillis) throws InterruptedException, ExecutionException {
        CompletableFuture<LossReason> lost = hold.onLost();
        try {
            return word(lost.get(waitMillis, TimeUnit.MILLISECONDS));
        } catch (TimeoutException notYet) {
            return "none";
        }
    }

    /** The reason comes by a future, also where it is known already. */
    private static String see(LockHandle hold) throws InterruptedException, ExecutionException {
        boolean valid = hold.isValid();
        return "valid=" + valid + " remaining_ms=" + hold.remaining().toMillis() + " lost="
                + lost(hold, valid ? 0 : 1000);
    }

    private static String counted(LockStats lock) {
        return "acquired=" + lock.acquired() + " contended=" + lock.contended() + " handed_over="
                + (lock.handedOverLocal() + lock.handedOverRemote()) + " wait_timeouts=" + lock.waitTimeouts()
                + " lost=" + lock.lost() + " released=" + lock.released() + " waiting=" + lock.waiting() + " held="
                + lock.held() + " waits=" + lock.waitTime().count() + " holds="
                + lock.holdTime().count();
    }

    private String inspect(Step step) {
        Inspection seen = client(step).lock(step.object(1)).inspect();
        Duration ttl = seen.ttl();
        return "held=" + (seen.holder() != null) + " holder=" + (seen.holder() == null ? "none" : seen.holder()) + " ours=" + seen.ours() + " ttl_ms="
                + (ttl == null ? "none" : ttl.toMillis()) + " token="
                + (seen.token().isPresent() ? seen.token().getAsLong() : "none") + " queued=" + seen.queued();
    }
}
