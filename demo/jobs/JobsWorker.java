import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.libdlock.Client;
import org.libdlock.ConsumerOptions;
import org.libdlock.Delivery;
import org.libdlock.DistributedQueue;
import org.libdlock.Dlock;
import org.libdlock.NewJob;
import org.libdlock.QueueConsumer;
import org.libdlock.QueueOptions;

/**
 * One Java process of the demo's queues: puts COUNT jobs into the queue of NEXT, and does those of the queue of OWN.
 *
 * <pre>JobsWorker URL NAME FOLDER WHO OWN NEXT COUNT</pre>
 *
 * To do a job is to make the file FOLDER/ID, which cannot be made twice. Prints {@code ready}, starts on a line of input, then prints
 * its progress as JSON lines; stops when its input ends.
 */
public final class JobsWorker {
    private static final int CONCURRENCY = 4;
    private static final long INSIDE_MS = 2;
    private static final Duration LEASE = Duration.ofSeconds(2);
    private static final long REPORT_EVERY_MS = 100;

    private final Path folder;
    private final String who;
    private int done;
    private int repeated;
    private int foundDone;

    private JobsWorker(Path folder, String who) {
        this.folder = folder;
        this.who = who;
    }

    /** Does a job; false when it was done before. */
    private boolean make(String job) throws IOException {
        try {
            Files.writeString(folder.resolve(job), who, StandardOpenOption.CREATE_NEW);
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        }
    }

    private void work(Delivery job) throws IOException, InterruptedException {
        Thread.sleep(INSIDE_MS);
        add(make(job.id()), job.attempt());
    }

    private synchronized void add(boolean made, int attempt) {
        done += made ? 1 : 0;
        foundDone += made ? 0 : 1;
        repeated += attempt > 1 ? 1 : 0;
    }

    private synchronized void report() {
        System.out.printf("{\"done\": %d, \"repeated\": %d, \"found_done\": %d}%n", done, repeated, foundDone);
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        JobsWorker worker = new JobsWorker(Path.of(args[2]), args[3]);
        ExecutorService pool = Executors.newFixedThreadPool(CONCURRENCY);
        ScheduledExecutorService reports = Executors.newSingleThreadScheduledExecutor();
        try (Client client = Dlock.connect(args[0])) {
            DistributedQueue others = client.queue(args[1] + "-" + args[5]);
            QueueOptions renewed = QueueOptions.defaults().watchdogLease(LEASE);
            DistributedQueue mine = client.queue(args[1] + "-" + args[4], renewed);
            System.out.println("ready");
            while (System.in.read() != '\n') {
                // It starts on a line.
            }
            reports.scheduleAtFixedRate(worker::report, REPORT_EVERY_MS, REPORT_EVERY_MS, TimeUnit.MILLISECONDS);
            ConsumerOptions some = ConsumerOptions.defaults().concurrency(CONCURRENCY);
            QueueConsumer consumer = mine.consume(pool, worker::work, some);
            try {
                List<NewJob> jobs = IntStream.range(0, Integer.parseInt(args[6]))
                        .mapToObj(number -> args[3] + "-" + number)
                        .map(job -> NewJob.of(job).id(job))
                        .toList();
                others.putMany(jobs);
                System.in.readAllBytes();
            } finally {
                consumer.close();
            }
        } finally {
            reports.shutdownNow();
            pool.shutdown();
        }
        worker.report();
    }
}
