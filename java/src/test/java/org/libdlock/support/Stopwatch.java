package org.libdlock.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Measures how long something takes, also on a machine on which others have the processors. */
public final class Stopwatch {
    private static final Path THREADS = Path.of("/proc/self/task");

    private final Map<Path, Long> before = hindered();
    private final long began = System.nanoTime();

    private Stopwatch() {}

    public static Stopwatch start() {
        return new Stopwatch();
    }

    /** The milliseconds since its start. */
    public long elapsed() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
    }

    /** The same without those in which threads of this process were ready to run and others had the processors. */
    public long unhindered() {
        long elapsed = System.nanoTime() - began;
        long hindered = 0;
        for (Map.Entry<Path, Long> thread : hindered().entrySet()) {
            hindered += thread.getValue() - before.getOrDefault(thread.getKey(), 0L);
        }
        return TimeUnit.NANOSECONDS.toMillis(elapsed - hindered);
    }

    /** For each thread the nanoseconds that it was ready to run so far and did not. */
    private static Map<Path, Long> hindered() {
        Map<Path, Long> nanos = new HashMap<>();
        for (Path thread : threads()) {
            try {
                // The time on a processor, the time of waiting for one, and how often it had one.
                nanos.put(
                        thread,
                        Long.parseLong(
                                Files.readString(thread.resolve("schedstat")).split(" ", -1)[1]));
            } catch (IOException ended) {
                // It counts no more.
            }
        }
        return nanos;
    }

    private static List<Path> threads() {
        try (Stream<Path> threads = Files.list(THREADS)) {
            return threads.toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
