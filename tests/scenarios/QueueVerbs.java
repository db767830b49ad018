import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.libdlock.Client;
import org.libdlock.Delivery;
import org.libdlock.DistributedQueue;
import org.libdlock.ListedJob;
import org.libdlock.NewJob;
import org.libdlock.PutResult;
import org.libdlock.QueueCounts;
import org.libdlock.QueueOptions;

/** The verbs of queues, and takes that go on beside the steps. */
final class QueueVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, DistributedQueue> queues = new HashMap<>();
    private final Map<String, Delivery> deliveries = new HashMap<>();
    private final Map<String, CompletableFuture<Delivery>> takes = new HashMap<>();

    QueueVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("queue", this::open);
        all.put("follow", step -> {
            queues.put(step.object(2), named(step).followedBy(queues.get(step.object(1))));
            return "";
        });
        all.put("job_queue", step -> "queue=" + delivery(step).queue().name());
        all.put("put", this::put);
        all.put("put_all", step -> {
            List<NewJob> jobs = Arrays.stream(step.option("payloads", "").split(","))
                    .map(NewJob::of)
                    .toList();
            return "put=" + named(step).putMany(jobs).stream().filter(PutResult::isNew).count();
        });
        all.put("next", step -> came(step.object(1), named(step).take(step.millis("wait_ms"))));
        all.put("begin_next", step -> {
            takes.put(step.object(1), named(step).takeAsync(step.millis("wait_ms")));
            return "";
        });
        all.put("end_next", step -> came(step.object(1), takes.remove(step.object(0)).join()));
        all.put("do_all", this::doAll);
        all.put("ack", step -> {
            delivery(step).ack();
            return "";
        });
        all.put("nack", step -> {
            delivery(step).nack(step.millis("delay_ms"), step.option("reason", ""));
            return "";
        });
        all.put("prolong", step -> {
            delivery(step).extend(step.millis("lease_ms"));
            return "";
        });
        all.put("job_lost", step -> "lost=" + lost(delivery(step), step.number("wait_ms")));
        all.put("jobs", step -> {
            QueueCounts counts = named(step).counts();
            return "ready=" + counts.ready() + " delayed=" + counts.delayed() + " in_flight=" + counts.inFlight()
                    + " dead=" + counts.dead() + " waiters=" + counts.waiters();
        });
        all.put("list_jobs", step -> listed(named(step).peek(most(step))));
        all.put("list_dead", step -> listed(named(step).dead().list(most(step))));
        all.put("cancel_job", step -> "cancelled=" + named(step).cancel(step.option("id", "")));
        all.put("purge", step -> "purged=" + named(step).purge());
        all.put("requeue", step -> "requeued=" + named(step).dead().requeue(step.option("id", "")));
        all.put("requeue_all", step -> "requeued=" + named(step).dead().requeueAll());
        all.put("remove_dead", step -> "removed=" + named(step).dead().remove(step.option("id", "")));
        all.put("purge_dead", step -> "purged=" + named(step).dead().purge());
    }

    @Override
    public void forget() {
        queues.clear();
        deliveries.clear();
        takes.clear();
    }

    private DistributedQueue named(Step step) {
        return queues.get(step.object(0));
    }

    private Delivery delivery(Step step) {
        return deliveries.get(step.object(0));
    }

    private static int most(Step step) {
        return Integer.parseInt(step.option("most", "100"));
    }

    private String open(Step step) {
        QueueOptions options = QueueOptions.defaults();
        if (step.options().containsKey("lease_ms")) {
            options = options.lease(step.millis("lease_ms"));
        }
        if (step.options().containsKey("max_attempts")) {
            options = options.maxAttempts((int) step.number("max_attempts"));
        }
        if (step.options().containsKey("max_payload")) {
            options = options.maxPayload((int) step.number("max_payload"));
        }
        if (step.options().containsKey("max_length")) {
            options = options.maxLength(step.number("max_length"));
        }
        queues.put(step.object(2), clients.get(step.object(0)).queue(step.object(1), options));
        return "";
    }

    private String put(Step step) {
        NewJob job = NewJob.of(step.option("payload", "")).priority(Integer.parseInt(step.option("priority", "0")));
        if (step.options().containsKey("id")) {
            job = job.id(step.option("id", ""));
        }
        if (step.options().containsKey("delay_ms")) {
            job = job.delay(step.millis("delay_ms"));
        }
        if (step.options().containsKey("at_ms")) {
            job = job.at(Instant.ofEpochMilli(step.number("at_ms")));
        }
        PutResult put = named(step).put(job);
        return "id=" + put.id() + " is_new=" + put.isNew();
    }

    private String came(String name, Delivery delivery) {
        if (delivery == null) {
            return "came=false";
        }
        deliveries.put(name, delivery);
        return "came=true payload=" + delivery.payloadAsString() + " id=" + delivery.id() + " attempt="
                + delivery.attempt() + " priority=" + delivery.priority() + " token=" + delivery.token();
    }

    private String doAll(Step step) throws InterruptedException {
        List<Delivery> taken = named(step).takeMany(most(step), step.millis("wait_ms"));
        taken.forEach(Delivery::ack);
        return "payloads=" + taken.stream().map(Delivery::payloadAsString).collect(Collectors.joining(","));
    }

    private static String lost(Delivery delivery, long waitMillis) throws InterruptedException, ExecutionException {
        try {
            return delivery.onLost()
                    .get(waitMillis, TimeUnit.MILLISECONDS)
                    .name()
                    .toLowerCase(Locale.ROOT);
        } catch (TimeoutException notYet) {
            return "none";
        }
    }

    private static String listed(List<ListedJob> jobs) {
        String ids = jobs.stream().map(ListedJob::id).collect(Collectors.joining(","));
        String attempts = jobs.stream().map(job -> "" + job.attempts()).collect(Collectors.joining(","));
        String reasons =
                jobs.stream().map(ListedJob::reason).filter(Objects::nonNull).collect(Collectors.joining(","));
        return "ids=" + ids + " attempts=" + attempts + " reasons=" + reasons;
    }
}
