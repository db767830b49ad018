import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.libdlock.Absent;
import org.libdlock.Client;
import org.libdlock.Decision;
import org.libdlock.LimiterStats;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;

/** The verbs of rate limiters. */
final class RateLimiterVerbs implements Verbs {
    private final Map<String, Client> clients;
    private final Map<String, RateLimiter> limiters = new HashMap<>();

    RateLimiterVerbs(Map<String, Client> clients) {
        this.clients = clients;
    }

    @Override
    public void addTo(Map<String, Verb> all) {
        all.put("limiter", this::open);
        all.put("spend", step -> {
            Duration wait = Duration.ofMillis(Long.parseLong(step.option("wait_ms", "0")));
            return decided(limiter(step).acquire(step.number("cost"), wait));
        });
        all.put("peek", step -> decided(limiter(step).peek()));
        all.put("counted_decisions", step -> counted(clients.get(step.object(0)).stats().limiter()));
        all.put("reset", step -> {
            limiter(step).reset();
            return "";
        });
    }

    @Override
    public void forget() {
        limiters.clear();
    }

    private RateLimiter limiter(Step step) {
        return limiters.get(step.object(0));
    }

    private String open(Step step) {
        Rate rate = Rate.of(step.number("tokens"), Duration.ofNanos(step.number("per_us") * 1000));
        if (step.options().containsKey("burst")) {
            rate = rate.burst(step.number("burst"));
        }
        Client client = clients.get(step.object(0));
        limiters.put(step.object(2), client.rateLimiter(step.object(1), rate, policy(step)));
        return "";
    }

    private static String counted(LimiterStats limiter) {
        return "granted=" + limiter.granted() + " refused=" + limiter.refused() + " tokens=" + limiter.tokens()
                + " by_policy=" + limiter.byPolicy() + " waiting=" + limiter.waiting() + " waits="
                + limiter.waitTime().count();
    }

    private static Absent policy(Step step) {
        return switch (step.option("absent", "fail")) {
            case "deny" -> Absent.DENY;
            case "allow" -> Absent.ALLOW;
            case "local_share" -> Absent.localShare((int) step.number("share_of"));
            default -> Absent.FAIL;
        };
    }

    private static Object micros(Duration length) {
        return length == null ? "none" : TimeUnit.NANOSECONDS.toMicros(length.toNanos());
    }

    private static String decided(Decision decision) {
        return "allowed=" + decision.allowed() + " granted=" + decision.granted() + " remaining="
                + decision.remaining() + " retry_after_us=" + micros(decision.retryAfter()) + " reset_after_us="
                + micros(decision.resetAfter()) + " limit=" + decision.limit();
    }
}
