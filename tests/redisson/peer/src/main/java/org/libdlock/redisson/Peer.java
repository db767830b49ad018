package org.libdlock.redisson;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The Redisson process of the tests: does what the lines on its input say, see {@code redisson.py} for the other end.
 *
 * <p>A line is {@code ADDRESS VERB [ARGUMENT...]}, and every answer begins with the address that was asked. The address {@code peer}
 * is the process itself:
 *
 * <pre>
 *   clock                                the time now
 *   open CLIENT URL WATCHDOG_MS PREFIX   a Redisson client; 0: its default, "-": no prefix. Answers with its id
 *   close CLIENT                         shuts it down: what it holds is no longer renewed
 * </pre>
 *
 * <p>Any other is {@code CLIENT.THREAD}, for the verbs of {@link Verbs} and for {@code end}. Redisson's holders are threads, so each
 * such address is a thread of its own, made when it is first named; it does one line after the other until {@code end}, and threads do
 * not wait for one another.
 *
 * <p>Times are microseconds of {@link System#nanoTime}, which on Linux is CLOCK_MONOTONIC, one for all processes. The process ends with
 * its input.
 */
public final class Peer {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final Map<String, Verbs> clients = new HashMap<>();
    private final Map<String, ExecutorService> threads = new HashMap<>();

    private Peer() {}

    public static void main(String[] arguments) throws IOException {
        Peer peer = new Peer();
        answer("peer", "ready");
        try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                List<String> words = Arrays.asList(line.split(" "));
                peer.take(words.get(0), words.get(1), words.subList(2, words.size()));
            }
        }
        // Redisson's threads would keep the process; what it holds is left to run out, as when a service dies.
        Runtime.getRuntime().halt(0);
    }

    private void take(String address, String verb, List<String> arguments) {
        if (address.equals("peer")) {
            guarded(address, () -> own(verb, arguments));
            return;
        }
        if (verb.equals("end")) {
            threads.remove(address).shutdown();
            return;
        }
        Verbs verbs = clients.get(address.substring(0, address.indexOf('.')));
        threads.computeIfAbsent(address, Peer::thread)
                .execute(() -> guarded(address, () -> verbs.run(verb, arguments, said -> answer(address, said))));
    }

    private void own(String verb, List<String> arguments) {
        switch (verb) {
            case "clock" -> answer("peer", "clock " + nowUs());
            case "open" -> {
                Verbs verbs = Verbs.open(arguments.get(1), Long.parseLong(arguments.get(2)), arguments.get(3));
                clients.put(arguments.get(0), verbs);
                answer("peer", "opened " + verbs.id());
            }
            case "close" -> {
                clients.remove(arguments.get(0)).close();
                answer("peer", "closed");
            }
            default -> throw new IllegalArgumentException("cannot read " + verb);
        }
    }

    private static ExecutorService thread(String name) {
        return Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, name);
            thread.setDaemon(true);
            return thread;
        });
    }

    private static void guarded(String address, Request request) {
        try {
            request.run();
        } catch (Exception error) {
            answer(address, "error " + error.getClass().getSimpleName() + " " + error.getMessage());
        }
    }

    private static void answer(String address, String said) {
        OUT.println(address + " " + said); // println is atomic: PrintStream locks itself
    }

    static long nowUs() {
        return System.nanoTime() / 1000;
    }

    private interface Request {
        void run() throws Exception;
    }
}
