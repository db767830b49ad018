import java.time.Duration;
import org.libdlock.Client;
import org.libdlock.Delivery;
import org.libdlock.DistributedQueue;
import org.libdlock.Dlock;
import org.libdlock.ListedJob;
import org.libdlock.NewJob;
import org.libdlock.PutResult;
import org.libdlock.QueueOptions;

/** A job for later, one that fails and comes again, and a dead one. */
public final class Queues {
    public static void main(String[] arguments) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client client = Dlock.connect(url)) {
            DistributedQueue mails =
                    client.queue("example-queue", QueueOptions.defaults().maxAttempts(2));

            mails.put(NewJob.of("to: ada").id("ada-1").delay(Duration.ofMillis(100)));
            PutResult again = mails.put(NewJob.of("to: ada").id("ada-1"));
            System.out.println("put a second time: " + again.isNew());
            System.out.println("due at once: " + (mails.tryTake() != null));

            try (Delivery first = mails.take()) {
                System.out.println(first.payloadAsString() + ", attempt " + first.attempt());
                first.nack(Duration.ofMillis(50), "no route");
            }

            try (Delivery second = mails.take()) {
                System.out.println(second.payloadAsString() + ", attempt " + second.attempt());
                second.nack(null, "still no route");
            }

            ListedJob dead = mails.dead().list(10).get(0);
            System.out.println("dead after " + dead.attempts() + " attempts: " + dead.reason());

            mails.dead().requeue("ada-1");
            try (Delivery third = mails.take()) {
                third.ack();
            }
            System.out.println("left: " + mails.counts().ready());
        }
    }
}
