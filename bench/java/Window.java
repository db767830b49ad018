import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.TreeMap;

/**
 * How long callers waited for a lock that many want. One caller's share of a run: holds that began within the window count,
 * all others only keep the lock wanted.
 */
final class Window {
    private static final long FROM_NS = 500_000_000; // before a window is counted, all processes are at work

    private final long from;
    private final long to;
    private long[] waits = new long[1024]; // ns
    private int counted;
    private long all;

    Window(long begun, double seconds) {
        this.from = begun + FROM_NS;
        this.to = from + (long) (seconds * 1e9);
    }

    /** Whether there is time for another hold that was asked for then. */
    boolean goesOn(long asked) {
        return asked < to;
    }

    /** A hold was asked for then, and granted now. */
    void granted(long asked) {
        long now = System.nanoTime();
        all++;
        if (from <= now && now < to) {
            if (counted == waits.length) {
                waits = java.util.Arrays.copyOf(waits, 2 * counted);
            }
            waits[counted++] = now - asked;
        }
    }

    /** What all callers of the process have gathered, as JSON; waits in buckets of which 32 double the time: 2^(n/32) ns. */
    static String told(List<Window> windows, double seconds) {
        TreeMap<Long, Long> buckets = new TreeMap<>();
        long done = 0;
        long all = 0;
        double waited = 0;
        for (Window window : windows) {
            done += window.counted;
            all += window.all;
            for (int i = 0; i < window.counted; i++) {
                waited += window.waits[i] * 1e-9;
                double log2 = Math.log(Math.max(window.waits[i], 1)) / Math.log(2);
                buckets.merge(Math.round(32 * log2), 1L, Long::sum);
            }
        }
        StringJoiner list = new StringJoiner(", ");
        buckets.forEach((bucket, count) -> list.add("[" + bucket + ", " + count + "]"));
        return String.format(
                Locale.ROOT,
                "{\"done\": %d, \"seconds\": %.3f, \"all\": %d, \"waited\": %.6f, \"waits\": [%s]}",
                done,
                seconds,
                all,
                waited,
                list);
    }
}
