import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.libdlock.Client;
import org.libdlock.DistributedCountDownLatch;
import org.libdlock.LatchStats;

/** The verbs of latches, and those that wait for one beside the steps. */
final class LatchVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, DistributedCountDownLatch> latches = new HashMap<>();
    private final Map<String, CompletableFuture<Boolean>> waits = new HashMap<>();

    LatchVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("latch", step -> {
            latches.put(step.object(2), clients.get(step.object(0)).latch(step.object(1)));
            return "";
        });
        all.put("set_count", step -> "set=" + named(step).trySetCount(step.number("count")));
        all.put("count_down", step -> "left=" + countDown(step));
        all.put("count", step -> "count=" + named(step).getCount());
        all.put("wait", step -> "opened=" + named(step).await(step.millis("wait_ms")));
        all.put("begin_wait", step -> {
            waits.put(step.object(1), named(step).awaitAsync(step.millis("wait_ms")));
            return "";
        });
        all.put("end_wait", step -> "opened=" + waits.remove(step.object(0)).join());
        all.put("remove_latch", step -> "removed=" + named(step).delete());
        all.put("counted_latches", this::counted);
    }

    @Override
    public void forget() {
        latches.clear();
        waits.clear();
    }

    private DistributedCountDownLatch named(Step step) {
        return latches.get(step.object(0));
    }

    /** The one without a number is asked for what is left by its future; the one that waits answers nothing. */
    private long countDown(Step step) {
        if (step.options().containsKey("by")) {
            return named(step).countDown(step.number("by"));
        }
        return named(step).countDownAsync().join();
    }

    private String counted(Step step) {
        LatchStats of = clients.get(step.object(0)).stats().latch();
        return "counted_down=" + of.countedDown() + " opened=" + of.opened() + " wait_timeouts=" + of.waitTimeouts()
                + " waiting=" + of.waiting() + " waits=" + of.waitTime().count();
    }
}
