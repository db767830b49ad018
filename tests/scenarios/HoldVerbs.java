import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.libdlock.Client;
import org.libdlock.Held;
import org.libdlock.LockHandle;
import org.libdlock.LockStats;
import org.libdlock.LossReason;
import org.libdlock.RwLockStats;
import org.libdlock.SemaphoreStats;
import org.libdlock.Stats;

/** The verbs of holds, of whatever primitive, and what their clients have counted. */
final class HoldVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, Held> holds = new HashMap<>();

    HoldVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("release", step -> {
            hold(step).release();
            return "";
        });
        all.put("extend", step -> {
            hold(step).extend(step.millis("lease_ms"));
            return "";
        });
        all.put("detach", step -> "text=" + ((LockHandle) hold(step)).detach());
        all.put("see", step -> see(hold(step)));
        all.put("wait_lost", step -> "lost=" + lost(hold(step), step.number("wait_ms")));
        all.put("counted", this::counted);
    }

    @Override
    public void forget() {
        holds.clear();
    }

    void keep(String name, Held hold) {
        holds.put(name, hold);
    }

    Held hold(Step step) {
        return holds.get(step.object(0));
    }

    private static String word(LossReason reason) {
        return reason == null ? "none" : reason.name().toLowerCase(Locale.ROOT);
    }

    private static String lost(Held hold, long waitMillis) throws InterruptedException, ExecutionException {
        CompletableFuture<LossReason> lost = hold.onLost();
        try {
            return word(lost.get(waitMillis, TimeUnit.MILLISECONDS));
        } catch (TimeoutException notYet) {
            return "none";
        }
    }

    /** The reason comes by a future, also where it is known already. */
    private static String see(Held hold) throws InterruptedException, ExecutionException {
        boolean valid = hold.isValid();
        return "valid=" + valid + " remaining_ms=" + hold.remaining().toMillis() + " lost="
                + lost(hold, valid ? 0 : 1000);
    }

    private String counted(Step step) {
        Stats stats = clients.get(step.object(0)).stats();
        String of = step.option("of", "lock");
        return switch (of) {
            case "lock" -> words(stats.lock());
            case "semaphore" -> words(stats.semaphore());
            case "rw_lock" -> words(stats.rwLock());
            default -> throw new IllegalArgumentException("nothing is counted of " + of);
        };
    }

    // Each primitive has a record of its own, with the same fields.
    private static String words(LockStats of) {
        return "acquired=" + of.acquired() + " contended=" + of.contended() + " handed_over="
                + (of.handedOverLocal() + of.handedOverRemote()) + " wait_timeouts=" + of.waitTimeouts() + " lost="
                + of.lost() + " released=" + of.released() + " waiting=" + of.waiting() + " held=" + of.held()
                + " waits=" + of.waitTime().count() + " holds=" + of.holdTime().count();
    }

    private static String words(SemaphoreStats of) {
        return "acquired=" + of.acquired() + " contended=" + of.contended() + " handed_over="
                + (of.handedOverLocal() + of.handedOverRemote()) + " wait_timeouts=" + of.waitTimeouts() + " lost="
                + of.lost() + " released=" + of.released() + " waiting=" + of.waiting() + " held=" + of.held()
                + " waits=" + of.waitTime().count() + " holds=" + of.holdTime().count();
    }

    private static String words(RwLockStats of) {
        return "acquired=" + of.acquired() + " contended=" + of.contended() + " handed_over="
                + (of.handedOverLocal() + of.handedOverRemote()) + " wait_timeouts=" + of.waitTimeouts() + " lost="
                + of.lost() + " released=" + of.released() + " waiting=" + of.waiting() + " held=" + of.held()
                + " waits=" + of.waitTime().count() + " holds=" + of.holdTime().count();
    }
}
