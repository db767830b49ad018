import java.time.Duration;
import org.libdlock.Client;
import org.libdlock.Decision;
import org.libdlock.Dlock;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;

/** Three requests a minute for everybody: the fourth is told when to come back. */
public final class Limit {
    public static void main(String[] arguments) {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client client = Dlock.connect(url)) {
            RateLimiter api = client.rateLimiter("example-api", Rate.of(3, Duration.ofSeconds(60)));
            api.reset(); // earlier runs have spent tokens

            for (int request = 1; request <= 4; request++) {
                Decision decision = api.tryAcquire();
                Duration wait = decision.retryAfter();
                if (decision.allowed()) {
                    System.out.println("request " + request + " is allowed, " + decision.remaining() + " left");
                } else if (wait != null && wait.compareTo(Duration.ofSeconds(20)) <= 0) {
                    System.out.println("request " + request + " is refused, and may come back within 20 s");
                }
            }
        }
    }
}
