import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.libdlock.Client;
import org.libdlock.CountingSemaphoreInspection;
import org.libdlock.CountingSemaphoreStats;
import org.libdlock.DistributedCountingSemaphore;

/** The verbs of counting semaphores, and those that wait for permits beside the steps. */
final class CountingSemaphoreVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, DistributedCountingSemaphore> semaphores = new HashMap<>();
    private final Map<String, CompletableFuture<Boolean>> takes = new HashMap<>();

    CountingSemaphoreVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("counting", step -> {
            semaphores.put(step.object(2), clients.get(step.object(0)).countingSemaphore(step.object(1)));
            return "";
        });
        all.put("make_permits", step -> "made=" + named(step).trySetPermits(permits(step)));
        all.put("take_permits", step -> "taken=" + named(step).tryAcquire(permits(step), step.millis("wait_ms")));
        all.put("begin_take", step -> {
            takes.put(step.object(1), named(step).tryAcquireAsync(permits(step), step.millis("wait_ms")));
            return "";
        });
        all.put("end_take", step -> "taken=" + takes.remove(step.object(0)).join());
        all.put("give", this::give);
        all.put("add_permits", step -> {
            named(step).addPermits(permits(step));
            return "";
        });
        all.put("drain", step -> "drained=" + named(step).drainPermits());
        all.put("inspect_counting", step -> {
            CountingSemaphoreInspection seen = named(step).inspect();
            return "exists=" + seen.exists() + " available=" + seen.available() + " queued=" + seen.queued();
        });
        all.put("counted_takes", this::counted);
    }

    @Override
    public void forget() {
        semaphores.clear();
        takes.clear();
    }

    private DistributedCountingSemaphore named(Step step) {
        return semaphores.get(step.object(0));
    }

    /** One, if the step names no number. */
    private static int permits(Step step) {
        return Integer.parseInt(step.option("permits", "1"));
    }

    private String give(Step step) {
        if (step.options().containsKey("permits")) {
            named(step).release(permits(step));
        } else {
            named(step).release();
        }
        return "";
    }

    private String counted(Step step) {
        CountingSemaphoreStats of = clients.get(step.object(0)).stats().countingSemaphore();
        return "acquired=" + of.acquired() + " contended=" + of.contended() + " wait_timeouts=" + of.waitTimeouts()
                + " released=" + of.released() + " waiting=" + of.waiting() + " waits=" + of.waitTime().count();
    }
}
