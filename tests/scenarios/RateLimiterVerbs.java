import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.libdlock.Absent;
import org.libdlock.Algorithm;
import org.libdlock.Answer;
import org.libdlock.Client;
import org.libdlock.Decision;
import org.libdlock.DlockError;
import org.libdlock.KeyedCost;
import org.libdlock.LimiterStats;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.Undecided;

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
            return decided(ofKey(step).acquire(step.number("cost"), wait));
        });
        all.put("spend_many", this::spendMany);
        all.put("peek", step -> decided(ofKey(step).peek()));
        all.put("counted_decisions", step -> counted(clients.get(step.object(0)).stats().limiter()));
        all.put("reserve", step -> decided(ofKey(step).reserve(step.number("cost"), step.millis("wait_ms"))));
        all.put("penalty", step -> {
            ofKey(step).penalty(step.number("tokens"));
            return "";
        });
        all.put("reward", step -> {
            ofKey(step).reward(step.number("tokens"));
            return "";
        });
        all.put("block", step -> {
            ofKey(step).block(step.millis("length_ms"));
            return "";
        });
        all.put("reset", step -> {
            ofKey(step).reset();
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

    /** The limiter that the step names, or its key. */
    private RateLimiter ofKey(Step step) {
        return step.options().containsKey("key") ? limiter(step).keyed(step.option("key", "")) : limiter(step);
    }

    private String spendMany(Step step) {
        List<KeyedCost> items = new ArrayList<>();
        for (String item : step.option("items", "").split(",")) {
            int star = item.indexOf('*');
            items.add(new KeyedCost(item.substring(0, star), Long.parseLong(item.substring(star + 1))));
        }
        List<String> granted = new ArrayList<>();
        for (Answer answer : limiter(step).tryAcquireMany(items)) {
            granted.add(
                    answer instanceof Decision decision
                            ? Long.toString(decision.granted())
                            : ((DlockError) ((Undecided) answer).error()).kind().toString());
        }
        return "granted=" + String.join(",", granted);
    }

    private String open(Step step) {
        Rate rate = rate(step.number("tokens"), step.number("per_us"), step.option("algorithm", "gcra"));
        if (step.options().containsKey("burst")) {
            rate = rate.burst(step.number("burst"));
        }
        List<Rate> rates = new ArrayList<>(List.of(rate));
        if (step.options().containsKey("more")) {
            for (String each : step.option("more", "").split(",")) {
                String[] words = each.split("/");
                rates.add(rate(Long.parseLong(words[0]), Long.parseLong(words[1]), words[2]));
            }
        }
        Client client = clients.get(step.object(0));
        limiters.put(step.object(2), client.rateLimiter(step.object(1), rates, policy(step)));
        return "";
    }

    private static Rate rate(long tokens, long micros, String algorithm) {
        Rate rate = Rate.of(tokens, Duration.of(micros, ChronoUnit.MICROS));
        return rate.by(Algorithm.valueOf(algorithm.toUpperCase(Locale.ROOT)));
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
                + micros(decision.resetAfter()) + " limit=" + decision.limit() + " refused_by="
                + (decision.refusedBy().isPresent() ? decision.refusedBy().getAsLong() : "none") + " usable_after_us="
                + micros(decision.usableAfter());
    }
}
