package org.libdlock.redisson;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RIdGenerator;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * What a thread of the process can do with the locks of one Redisson client. A verb's arguments begin with KIND and NAME, kinds
 * being {@code lock fenced spin fair nonreentrant read write multi} and names percent-encoded (a multi-lock's are several, with commas
 * between them); leases and waits are milliseconds, a lease of -1 is the watchdog's.
 *
 * <pre>
 *   acquire LEASE        acquired US TOKEN        TOKEN is "-" but for a fenced lock
 *   try WAIT LEASE       acquired US TOKEN | busy US
 *   release              released US              the time before the call
 *   contend ROUNDS       hold TOKEN US US for each round, then done
 *   locked               isLocked()
 *   ttl                  remainTimeToLive()
 *   holds                getHoldCount(), of the asking thread
 *   mine                 isHeldByCurrentThread()
 *   held-by THREAD_ID    isHeldByThread(THREAD_ID)
 *   force                forceUnlock()
 *   token                getToken() of a fenced lock
 *   thread               the asking thread's id
 * </pre>
 */
final class Verbs {
    private static final String CLUSTER = "redis+cluster://";

    private final RedissonClient client;
    /** An RLock object remembers its last lease, so a test's calls go to one object, as a program's would. */
    private final Map<String, RLock> locks = new ConcurrentHashMap<>();

    /** Each object has a block of its own, and a program would make one. */
    private final Map<String, RIdGenerator> generators = new ConcurrentHashMap<>();

    private Verbs(RedissonClient client) {
        this.client = client;
    }

    static Verbs open(String url, long watchdogMs, String prefix) {
        Config config = new Config().setThreads(2).setNettyThreads(2);
        if (url.startsWith(CLUSTER)) {
            useCluster(config, url.substring(CLUSTER.length()));
        } else {
            config.useSingleServer()
                    .setAddress(url)
                    .setConnectionMinimumIdleSize(1)
                    .setConnectionPoolSize(16);
        }
        if (watchdogMs > 0) config.setLockWatchdogTimeout(watchdogMs);
        if (!prefix.equals("-")) config.setNameMapper(new Prefix(URLDecoder.decode(prefix, StandardCharsets.UTF_8)));
        return new Verbs(Redisson.create(config));
    }

    /** {@code user:password@host:port,host:port}, as libdlock has it in one URL. */
    private static void useCluster(Config config, String place) {
        String[] login = place.substring(0, place.indexOf('@')).split(":");
        config.setUsername(login[0]).setPassword(login[1]);
        ClusterServersConfig servers = config.useClusterServers().setReadMode(ReadMode.MASTER);
        servers.setMasterConnectionMinimumIdleSize(1).setMasterConnectionPoolSize(16);
        for (String address : place.substring(place.indexOf('@') + 1).split(",")) {
            servers.addNodeAddress("redis://" + address);
        }
    }

    String id() {
        return client.getId();
    }

    void close() {
        client.shutdown();
    }

    void run(String verb, List<String> arguments, Consumer<String> say) throws InterruptedException {
        if (verb.equals("thread")) {
            say.accept(String.valueOf(threadId()));
            return;
        }
        String kind = arguments.get(0), name = URLDecoder.decode(arguments.get(1), StandardCharsets.UTF_8);
        List<String> rest = arguments.subList(2, arguments.size());
        switch (kind) {
            case "permits" -> say.accept(PermitVerbs.run(client.getPermitExpirableSemaphore(name), verb, rest));
            case "counting" -> say.accept(CountingVerbs.run(client.getSemaphore(name), verb, rest));
            case "ids" -> say.accept(IdVerbs.run(generators.computeIfAbsent(name, client::getIdGenerator), verb, rest));
            case "bloom" -> say.accept(BloomVerbs.run(client, name, verb, rest));
            case "latch" -> say.accept(LatchVerbs.run(client.getCountDownLatch(name), verb, rest));
            case "rate" -> say.accept(RateVerbs.run(client.getRateLimiter(name), verb, rest));
            default -> run(kind, name, verb, rest, say);
        }
    }

    private void run(String kind, String name, String verb, List<String> rest, Consumer<String> say)
            throws InterruptedException {
        RLock lock = locks.computeIfAbsent(kind + " " + name, key -> lock(kind, name));
        switch (verb) {
            case "acquire" -> say.accept(acquired(acquire(lock, Long.parseLong(rest.get(0)))));
            case "try" -> say.accept(attempt(lock, Long.parseLong(rest.get(0)), Long.parseLong(rest.get(1))));
            case "release" -> say.accept(release(lock));
            case "contend" -> contend(lock, Integer.parseInt(rest.get(0)), say);
            case "locked" -> say.accept(String.valueOf(lock.isLocked()));
            case "ttl" -> say.accept(String.valueOf(lock.remainTimeToLive()));
            case "holds" -> say.accept(String.valueOf(lock.getHoldCount()));
            case "mine" -> say.accept(String.valueOf(lock.isHeldByCurrentThread()));
            case "held-by" -> say.accept(String.valueOf(lock.isHeldByThread(Long.parseLong(rest.get(0)))));
            case "force" -> say.accept(String.valueOf(lock.forceUnlock()));
            case "token" -> say.accept(String.valueOf(((RFencedLock) lock).getToken()));
            default -> throw new IllegalArgumentException("cannot read " + verb);
        }
    }

    private RLock lock(String kind, String name) {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "spin" -> client.getSpinLock(name);
            case "fair" -> client.getFairLock(name);
            case "nonreentrant" -> client.getNonReentrantLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            case "multi" ->
                client.getMultiLock(
                        Arrays.stream(name.split(",")).map(client::getLock).toArray(RLock[]::new));
            default -> throw new IllegalArgumentException("no kind " + kind);
        };
    }

    /** The token as text, or "-". */
    private static String acquire(RLock lock, long leaseMs) {
        if (lock instanceof RFencedLock fenced)
            return fenced.lockAndGetToken(leaseMs, TimeUnit.MILLISECONDS).toString();
        lock.lock(leaseMs, TimeUnit.MILLISECONDS);
        return "-";
    }

    private static String attempt(RLock lock, long waitMs, long leaseMs) throws InterruptedException {
        String token = "-";
        boolean got;
        if (lock instanceof RFencedLock fenced) {
            Long given = fenced.tryLockAndGetToken(waitMs, leaseMs, TimeUnit.MILLISECONDS);
            got = given != null;
            token = String.valueOf(given);
        } else {
            got = lock.tryLock(waitMs, leaseMs, TimeUnit.MILLISECONDS);
        }
        return got ? acquired(token) : "busy " + Peer.nowUs();
    }

    private static String acquired(String token) {
        return "acquired " + Peer.nowUs() + " " + token;
    }

    private static String release(RLock lock) {
        long called = Peer.nowUs();
        lock.unlock();
        return "released " + called;
    }

    private static void contend(RLock lock, int rounds, Consumer<String> say) {
        for (int round = 0; round < rounds; round++) {
            String token = acquire(lock, -1);
            long acquired = Peer.nowUs();
            say.accept("hold " + token + " " + acquired + " " + Peer.nowUs());
            lock.unlock();
        }
        say.accept("done");
    }

    /** What Redisson puts behind the colon of an owner. */
    @SuppressWarnings("deprecation") // since 19, for threadId(), which 17 does not have
    private static long threadId() {
        return Thread.currentThread().getId();
    }
}
