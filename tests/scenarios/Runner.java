import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.libdlock.Absent;
import org.libdlock.Client;
import org.libdlock.Decision;
import org.libdlock.Dlock;
import org.libdlock.DlockError;
import org.libdlock.Inspection;
import org.libdlock.Layout;
import org.libdlock.LockHandle;
import org.libdlock.LockOptions;
import org.libdlock.LossReason;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.Snowflake;

/** The runner of scenarios for Java: see README.md and runner.py. */
public final class Runner {
    private final String url;
    private final Map<String, Client> clients = new HashMap<>();
    private final Map<String, Object> things = new HashMap<>();

    private Runner(String url) {
        this.url = url;
    }

    /** A step taken apart. */
    private record Step(String verb, List<String> objects, Map<String, String> options) {
        static Step of(String line) {
            List<String> words = new ArrayList<>(Arrays.asList(line.split(" ")));
            Step step = new Step(words.remove(0), new ArrayList<>(), new HashMap<>());
            for (String word : words) {
                int at = word.indexOf('=');
                if (at < 0) {
                    step.objects.add(word);
                } else {
                    step.options.put(word.substring(0, at), word.substring(at + 1));
                }
            }
            return step;
        }

        String object(int at) {
            return objects.get(at);
        }

        String option(String name, String otherwise) {
            return options.getOrDefault(name, otherwise);
        }

        long number(String name) {
            return Long.parseLong(options.get(name));
        }

        Duration millis(String name) {
            return options.containsKey(name) ? Duration.ofMillis(number(name)) : null;
        }
    }

    private static long millis(Duration length) {
        return length.toMillis();
    }

    private static Object micros(Duration length) {
        return length == null ? "none" : TimeUnit.NANOSECONDS.toMicros(length.toNanos());
    }

    private static String word(LossReason reason) {
        return reason == null ? "none" : reason.name().toLowerCase(Locale.ROOT);
    }

    private String kept(String name, LockHandle hold) {
        things.put(name, hold);
        return "token=" + hold.token() + " owner=" + hold.owner();
    }

    private LockHandle hold(Step step) {
        return (LockHandle) things.get(step.object(0));
    }

    private RateLimiter limiter(Step step) {
        return (RateLimiter) things.get(step.object(0));
    }

    private Snowflake generator(Step step) {
        return (Snowflake) things.get(step.object(0));
    }

    private Client client(Step step) {
        return clients.get(step.object(0));
    }

    private static String decided(Decision decision) {
        return "allowed=" + decision.allowed() + " granted=" + decision.granted() + " remaining="
                + decision.remaining() + " retry_after_us=" + micros(decision.retryAfter()) + " reset_after_us="
                + micros(decision.resetAfter()) + " limit=" + decision.limit();
    }

    private static Absent policy(Step step) {
        return switch (step.option("absent", "fail")) {
            case "deny" -> Absent.DENY;
            case "allow" -> Absent.ALLOW;
            case "local_share" -> Absent.localShare((int) step.number("share_of"));
            default -> Absent.FAIL;
        };
    }

    private void open(Step step) {
        List<String> options = new ArrayList<>();
        step.options.forEach((name, value) -> options.add(name + "=" + value));
        String query = options.isEmpty() ? "" : "?" + String.join("&", options);
        clients.put(step.object(0), Dlock.connect(url + query));
    }

    private String take(Step step) throws InterruptedException {
        LockOptions options = LockOptions.defaults();
        if (step.options.containsKey("lease_ms")) {
            options = options.lease(step.millis("lease_ms"));
        }
        if (step.options.containsKey("watchdog_lease_ms")) {
            options = options.watchdogLease(step.millis("watchdog_lease_ms"));
        }
        return kept(step.object(2), client(step).lock(step.object(1), options).acquire(step.millis("wait_ms"), null));
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
        return "valid=" + valid + " remaining_ms=" + millis(hold.remaining()) + " lost=" + lost(hold, valid ? 0 : 1000);
    }

    private String inspect(Step step) {
        Inspection seen = client(step).lock(step.object(1)).inspect();
        Object ttl = seen.ttl() == null ? "none" : millis(seen.ttl());
        return "held=" + (seen.holder() != null) + " ours=" + seen.ours() + " ttl_ms=" + ttl + " token="
                + (seen.token().isPresent() ? seen.token().getAsLong() : "none") + " queued=" + seen.queued();
    }

    private void openLimiter(Step step) {
        Rate rate = Rate.of(step.number("tokens"), Duration.ofNanos(step.number("per_us") * 1000));
        if (step.options.containsKey("burst")) {
            rate = rate.burst(step.number("burst"));
        }
        things.put(step.object(2), client(step).rateLimiter(step.object(1), rate, policy(step)));
    }

    private String ids(Step step) {
        long[] ids = generator(step).nextIds((int) step.number("count"));
        boolean increasing = IntStream.range(1, ids.length).allMatch(at -> ids[at - 1] < ids[at]);
        return "first=" + ids[0] + " last=" + ids[ids.length - 1] + " increasing=" + increasing;
    }

    private String decode(Step step) {
        Snowflake.Parts parts = generator(step).decode(step.number("id"));
        return "datacenter=" + parts.datacenter() + " worker=" + parts.worker() + " sequence=" + parts.sequence();
    }

    /** What the step answers. */
    private String run(Step step) throws InterruptedException, ExecutionException {
        switch (step.verb) {
            case "take":
                return take(step);
            case "attach":
                return kept(
                        step.object(2),
                        client(step).lock(step.object(1)).attachAsync(step.options.get("text")).join());
            case "detach":
                return "text=" + hold(step).detach();
            case "see":
                return see(hold(step));
            case "wait_lost":
                return "lost=" + lost(hold(step), step.number("wait_ms"));
            case "inspect":
                return inspect(step);
            case "force":
                return "was_held=" + client(step).lock(step.object(1)).forceRelease();
            case "spend":
                return decided(limiter(step)
                        .acquire(step.number("cost"), Duration.ofMillis(Long.parseLong(step.option("wait_ms", "0")))));
            case "peek":
                return decided(limiter(step).peek());
            case "ids":
                return ids(step);
            case "decode":
                return decode(step);
            case "encode":
                return "text=" + Snowflake.encode(step.number("id"), (int) step.number("base"));
            case "parse":
                return "id=" + Snowflake.parse(step.options.get("text"), (int) step.number("base"));
            default:
                act(step);
                return "";
        }
    }

    /** A step that answers nothing. */
    private void act(Step step) {
        switch (step.verb) {
            case "forget" -> {
                clients.values().forEach(Client::close);
                clients.clear();
                things.clear();
            }
            case "open" -> open(step);
            case "close" -> client(step).close(step.option("release", "false").equals("true"));
            case "release" -> hold(step).release();
            case "extend" -> hold(step).extend(step.millis("lease_ms"));
            case "limiter" -> openLimiter(step);
            case "reset" -> limiter(step).reset();
            case "generator" -> {
                Layout layout = Layout.named(step.option("layout", "default"));
                things.put(
                        step.object(0),
                        Snowflake.builder(step.number("datacenter"), step.number("worker"))
                                .layout(layout)
                                .build());
            }
            default -> throw new IllegalArgumentException("there is no verb " + step.verb);
        }
    }

    private static String facts(DlockError error) {
        Duration remaining = error.remaining();
        String allowed = error.allowed();
        return " holder=" + (error.holder() == null ? "none" : error.holder())
                + " remaining_ms=" + (remaining == null ? "none" : remaining.toMillis())
                + " allowed=" + (allowed == null ? "none" : allowed.replace(' ', '_'))
                + " retryable=" + error.retryable();
    }

    private static String answer(Runner runner, String line) throws InterruptedException, ExecutionException {
        try {
            return ("ok " + runner.run(Step.of(line))).strip();
        } catch (RuntimeException failed) {
            Throwable cause = failed instanceof java.util.concurrent.CompletionException ? failed.getCause() : failed;
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
            System.out.println(answer(runner, line));
        }
    }
}
