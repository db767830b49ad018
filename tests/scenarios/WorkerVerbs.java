import java.util.HashMap;
import java.util.Map;
import org.libdlock.Client;
import org.libdlock.Layout;
import org.libdlock.Snowflake;
import org.libdlock.Worker;
import org.libdlock.WorkerOptions;
import org.libdlock.WorkerStats;

/** The verbs of worker numbers. */
final class WorkerVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final IdsVerbs ids;
    private final Map<String, Worker> workers = new HashMap<>();

    WorkerVerbs(Map<String, Client> clients, IdsVerbs ids) {
        this.clients = clients;
        this.ids = ids;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("lease", step -> {
            Worker leased = lease(clients.get(step.object(0)), step);
            workers.put(step.object(2), leased);
            return "number=" + leased.number() + " valid=" + leased.isValid();
        });
        all.put("leased", step -> "valid=" + named(step).isValid());
        all.put("generator_of", step -> {
            ids.keep(step.object(1), generator(named(step), step));
            return "";
        });
        all.put("give_back", step -> {
            named(step).release();
            return "";
        });
        all.put("counted_numbers", step -> counted(clients.get(step.object(0)).stats().worker()));
    }

    private static String counted(WorkerStats of) {
        return "acquired=" + of.acquired() + " refused=" + of.refused() + " lost=" + of.lost() + " released="
                + of.released() + " held=" + of.held() + " waits=" + of.waitTime().count() + " holds="
                + of.holdTime().count();
    }

    private static Worker lease(Client client, Step step) {
        WorkerOptions how = WorkerOptions.defaults();
        if (step.options().containsKey("bits")) {
            how = how.bits(Math.toIntExact(step.number("bits")));
        }
        if (step.options().containsKey("lease_ms")) {
            how = how.lease(step.millis("lease_ms"));
        }
        return client.worker(step.object(1), how);
    }

    private static Snowflake generator(Worker worker, Step step) {
        return step.options().containsKey("layout")
                ? worker.snowflake(Layout.named(step.options().get("layout")))
                : worker.snowflake();
    }

    @Override
    public void forget() {
        workers.clear();
    }

    private Worker named(Step step) {
        return workers.get(step.object(0));
    }
}
