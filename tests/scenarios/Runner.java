import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.DlockError;

/** The runner of scenarios for Java: see README.md and runner.py. */
public final class Runner {
    private final String url;
    private final Map<String, Client> clients = new HashMap<>();
    private final HoldVerbs holds = new HoldVerbs(clients);
    private final IdsVerbs ids = new IdsVerbs();
    private final List<Verbs> kinds = List.of(
            holds,
            new LockVerbs(clients, holds),
            new LockAllVerbs(clients, holds),
            new SemaphoreVerbs(clients, holds),
            new CountingSemaphoreVerbs(clients),
            new RwLockVerbs(clients, holds),
            new LatchVerbs(clients),
            new QueueVerbs(clients),
            new IdGeneratorVerbs(clients),
            new BloomFilterVerbs(clients),
            new RateLimiterVerbs(clients),
            ids,
            new WorkerVerbs(clients, ids));
    private final Map<String, Verbs.Verb> verbs = new HashMap<>();

    private Runner(String url) {
        this.url = url;
        verbs.put("forget", step -> forget());
        verbs.put("open", this::open);
        verbs.put("close", this::close);
        kinds.forEach(kind -> kind.addTo(verbs));
    }

    private String forget() {
        clients.values().forEach(Client::close);
        clients.clear();
        kinds.forEach(Verbs::forget);
        return "";
    }

    private String open(Step step) {
        String at = step.option("at", url);
        step.options().remove("at");
        List<String> options = new ArrayList<>();
        step.options().forEach((name, value) -> options.add(name + "=" + value));
        String query = options.isEmpty() ? "" : "?" + String.join("&", options);
        clients.put(step.object(0), Dlock.connect(at + query));
        return "";
    }

    private String close(Step step) {
        clients.get(step.object(0)).close(step.option("release", "false").equals("true"));
        return "";
    }

    private static String facts(DlockError error) {
        Duration remaining = error.remaining();
        Duration retry = error.retryAfter();
        String allowed = error.allowed();
        return " holder=" + (error.holder() == null ? "none" : error.holder())
                + " remaining_ms=" + (remaining == null ? "none" : remaining.toMillis())
                + " retry_after_us=" + (retry == null ? "none" : TimeUnit.NANOSECONDS.toMicros(retry.toNanos()))
                + " allowed=" + (allowed == null ? "none" : allowed.replace(' ', '_'))
                + " retryable=" + error.retryable();
    }

    private String answer(String line) throws InterruptedException, ExecutionException {
        Step step = Step.of(line);
        try {
            return ("ok " + verbs.get(step.verb()).run(step)).strip();
        } catch (RuntimeException failed) {
            Throwable cause = failed instanceof CompletionException ? failed.getCause() : failed;
            if (cause instanceof DlockError error) {
                return "error " + error.kind() + facts(error) + " : " + cause.getMessage();
            }
            throw failed;
        }
    }

    public static void main(String[] arguments) throws IOException, InterruptedException, ExecutionException {
        Runner runner = new Runner(arguments[0]);
        System.out.println("ready");
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(runner.answer(line));
        }
    }
}
