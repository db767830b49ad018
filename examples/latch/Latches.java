import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.libdlock.Client;
import org.libdlock.DistributedCountDownLatch;
import org.libdlock.Dlock;

/** A start that waits until two workers are ready. */
public final class Latches {
    public static void main(String[] arguments) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379");
        try (Client starter = Dlock.connect(url);
                Client worker = Dlock.connect(url)) {
            DistributedCountDownLatch ready = starter.latch("example-latch");
            ready.trySetCount(2);

            long left = worker.latch("example-latch").countDown(1);
            System.out.println("the first worker is ready, " + left + " is left");
            if (!ready.await(100, TimeUnit.MILLISECONDS)) System.out.println("not everybody is ready");

            CompletableFuture<Long> second = worker.latch("example-latch").countDownAsync();
            ready.await();
            System.out.println("everybody is ready");
            second.join();
        }
    }
}
