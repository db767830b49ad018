import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/** Callers in threads, and the worker protocol: what they do with locks, whoever made them. */
final class Callers {
    // The compiler's, and so that connections and keys are warm before the clock starts.
    private static final double WARM_UP_SECONDS = 1.0;

    /** Of so many turns of `reads_and_writes` one is a writer's. */
    private static final int WRITES_IN = 10;

    private static final int HOLD_MS = 2; // of `handover`, in which the other process is waiting for sure

    private static final BufferedReader INPUT =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private final int count;
    private final double seconds;
    private final ExecutorService threads;

    Callers(int count, double seconds) {
        this.count = count;
        this.seconds = seconds;
        this.threads = Executors.newFixedThreadPool(count, run -> {
            Thread thread = new Thread(run);
            thread.setDaemon(true); // of `idle` they wait for ever
            return thread;
        });
    }

    /** Says that all is warm, and returns when the driver says go. */
    static void ready() throws IOException {
        System.out.println("ready");
        INPUT.readLine();
    }

    /** Gives the result, and returns when the driver has read what it wants to know of this process. */
    static void answer(String json) throws IOException {
        System.out.println(json);
        INPUT.readLine();
    }

    /** So many permits has the semaphore of `permits`, which all callers share: one for each. */
    static final int PERMITS = 64;

    /** So many items has a batch of `bloom_add` and `bloom_contains`, in every language. */
    static final int ITEMS = 1000;

    /** So many jobs has a batch, in every language. */
    static final int JOBS = 100;

    /** What is in each job. */
    static final String PAYLOAD = "x".repeat(100);

    /** The items from this number on. */
    static List<String> items(int from) {
        return IntStream.range(from, from + ITEMS).mapToObj(number -> "item-" + number).toList();
    }

    /** Acquires a permit and gives it back, as often as a caller can. */
    void permits(Callable<?> pair) throws Exception {
        loops(caller -> () -> {
            try {
                pair.call();
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
            return 1;
        });
    }

    /** Every caller reads, again and again, with others inside: who reads alone ends the hold. */
    void reads(ReadWriteLock sides) throws Exception {
        Lock lock = sides.readLock();
        loops(caller -> () -> {
            lock.lock();
            Thread.yield();
            lock.unlock();
            return 1;
        });
    }

    /** All callers take a side and let go of it at once, again and again; one turn of ten is a writer's. */
    void readsAndWrites(Function<String, ReadWriteLock> open) throws Exception {
        ReadWriteLock sides = open.apply("bench");
        Lock read = sides.readLock();
        Lock write = sides.writeLock();
        contended(open.apply("warm-" + ProcessHandle.current().pid()).readLock(), turn -> turn % WRITES_IN == 0 ? write : read);
    }

    /** What can be done with any lock. */
    void run(String what, Function<String, Lock> open) throws Exception {
        switch (what) {
            case "pairs" -> loops(caller -> {
                Lock lock = open.apply("bench-" + caller);
                return () -> {
                    lock.lock();
                    lock.unlock();
                    return 1;
                };
            });
            case "contended" -> {
                Lock lock = open.apply("bench");
                contended(open.apply("warm-" + ProcessHandle.current().pid()), turn -> lock);
            }
            case "idle" -> idle(open);
            case "handover" -> handover(open);
            default -> throw new IllegalArgumentException(what);
        }
    }

    /** Every caller at its own work, which says how often it did it. */
    void loops(IntFunction<LongSupplier> work) throws Exception {
        List<LongSupplier> works = new ArrayList<>();
        for (int caller = 0; caller < count; caller++) {
            works.add(work.apply(caller));
        }
        all(works, WARM_UP_SECONDS);
        ready();
        long begun = System.nanoTime();
        long done = all(works, seconds);
        double taken = (System.nanoTime() - begun) * 1e-9;
        answer(String.format(Locale.ROOT, "{\"done\": %d, \"seconds\": %.6f}", done, taken));
    }

    private long all(List<LongSupplier> works, double length) throws Exception {
        List<Callable<Long>> loops = new ArrayList<>();
        for (LongSupplier work : works) {
            loops.add(() -> {
                long begun = System.nanoTime();
                long done = 0;
                while ((System.nanoTime() - begun) * 1e-9 < length) {
                    done += work.getAsLong();
                }
                return done;
            });
        }
        long done = 0;
        for (Future<Long> caller : threads.invokeAll(loops)) {
            done += caller.get();
        }
        return done;
    }

    /** All callers take what is to be had in that turn and let go of it at once, again and again. */
    private void contended(Lock own, IntFunction<Lock> ofTurn) throws Exception {
        own.lock();
        own.unlock();
        ready();
        long begun = System.nanoTime();
        List<Callable<Window>> loops = new ArrayList<>();
        for (int caller = 0; caller < count; caller++) {
            int first = caller;
            loops.add(() -> {
                Window window = new Window(begun, seconds);
                int turn = first;
                for (long asked = System.nanoTime(); window.goesOn(asked); asked = System.nanoTime()) {
                    Lock lock = ofTurn.apply(turn++);
                    lock.lock();
                    window.granted(asked);
                    lock.unlock();
                }
                return window;
            });
        }
        List<Window> windows = new ArrayList<>();
        for (Future<Window> caller : threads.invokeAll(loops)) {
            windows.add(caller.get());
        }
        answer(Window.told(windows, seconds));
    }

    /** So many callers wait for `bench`, which somebody else holds. */
    private void idle(Function<String, Lock> open) throws IOException {
        for (int caller = 0; caller < count; caller++) {
            Lock lock = open.apply("bench");
            threads.execute(lock::lock);
        }
        ready();
        answer("{}");
        Runtime.getRuntime().halt(0);
    }

    /** Takes `bench`, holds it, lets go; tells when it had it and when it called unlock, on the clock of the machine. */
    private void handover(Function<String, Lock> open) throws Exception {
        Lock own = open.apply("warm-" + ProcessHandle.current().pid());
        for (int each = 0; each < 1000; each++) { // the compiler's warm-up
            own.lock();
            own.unlock();
        }
        Lock lock = open.apply("bench");
        ready();
        long end = System.nanoTime() + (long) (seconds * 1e9);
        List<long[]> turns = new ArrayList<>();
        while (System.nanoTime() < end) {
            lock.lock();
            long taken = System.nanoTime();
            Thread.sleep(HOLD_MS);
            long released = System.nanoTime();
            lock.unlock();
            turns.add(new long[] {taken, released});
        }
        StringJoiner told = new StringJoiner(", ");
        turns.forEach(turn -> told.add(Arrays.toString(turn)));
        answer("{\"turns\": [" + told + "]}");
    }
}
