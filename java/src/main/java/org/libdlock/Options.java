package org.libdlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The options of {@link Dlock#connect(String, Options)}. Immutable: each method returns a changed copy. What is not set has the core's
 * default, or what the URL says; names, defaults and bounds are the same in every language.
 *
 * <pre>{@code Options.defaults().lease(Duration.ofSeconds(10)).keyPrefix("shop:")}</pre>
 */
public final class Options {
    private static final Options DEFAULTS = new Options(Map.of());

    private final Map<String, String> given;

    private Options(Map<String, String> given) {
        this.given = given;
    }

    /**
     * Nothing set.
     *
     * @return the same for everybody
     */
    public static Options defaults() {
        return DEFAULTS;
    }

    /**
     * Sets an option by its name, as it would stand in the URL: for values out of a configuration file. An unknown name is refused by
     * {@code connect}, which lists the known ones.
     *
     * @param name such as {@code "poll_interval"}
     * @param value such as {@code "250ms"}
     * @return a copy with it
     */
    public Options set(String name, String value) {
        Map<String, String> copy = new LinkedHashMap<>(given);
        copy.put(name, value);
        return new Options(copy);
    }

    private Options set(String name, Duration value) {
        long millis = Arguments.millis(value);
        return set(name, millis == Long.MAX_VALUE ? value.toSeconds() + "s" : millis + "ms");
    }

    /**
     * TCP, handshake and password together.
     *
     * @param timeout 1 ms to 24 h; 5 s by default
     * @return a copy with it
     */
    public Options connectTimeout(Duration timeout) {
        return set("connect_timeout", timeout);
    }

    /**
     * One attempt at one request.
     *
     * @param timeout 1 ms to 24 h; 1 s by default
     * @return a copy with it
     */
    public Options responseTimeout(Duration timeout) {
        return set("response_timeout", timeout);
    }

    /**
     * A call that does not wait, its retries included.
     *
     * @param timeout 1 ms to 24 h; 10 s by default
     * @return a copy with it
     */
    public Options operationTimeout(Duration timeout) {
        return set("operation_timeout", timeout);
    }

    /**
     * The watchdog's lease, renewed every third of it.
     *
     * @param lease 100 ms to 24 h; 30 s by default
     * @return a copy with it
     */
    public Options lease(Duration lease) {
        return set("lease", lease);
    }

    /**
     * How often the first two of the queue look by themselves, should a message be lost.
     *
     * @param interval 20 ms to 1 h; 1 s by default
     * @return a copy with it
     */
    public Options pollInterval(Duration interval) {
        return set("poll_interval", interval);
    }

    /**
     * How often those behind the first two of the queue look by themselves.
     *
     * @param interval 20 ms to 1 h; 5 s by default
     * @return a copy with it
     */
    public Options queuePollInterval(Duration interval) {
        return set("queue_poll_interval", interval);
    }

    /**
     * How long a connection may be idle before it is tried.
     *
     * @param interval 100 ms to 1 h; 5 s by default
     * @return a copy with it
     */
    public Options pingInterval(Duration interval) {
        return set("ping_interval", interval);
    }

    /**
     * How long the token's key outlives its last use.
     *
     * @param ttl 1 s to 366 days; 1 h by default
     * @return a copy with it
     */
    public Options tokenTtl(Duration ttl) {
        return set("token_ttl", ttl);
    }

    /**
     * The token's key is kept for ever, as Redisson's fenced lock does: for fleets that run that, too.
     *
     * @return a copy with it
     */
    public Options tokenTtlNone() {
        return set("token_ttl", "none");
    }

    /**
     * Whether a holder may acquire again what it holds.
     *
     * @param reentrant true by default
     * @return a copy with it
     */
    public Options reentrant(boolean reentrant) {
        return set("reentrant", Boolean.toString(reentrant));
    }

    /**
     * Whether each release goes to the head of the queue, so that this process's own waiters have no advantage.
     *
     * @param strict false by default
     * @return a copy with it
     */
    public Options strictFifo(boolean strict) {
        return set("strict_fifo", Boolean.toString(strict));
    }

    /**
     * How often a lock may change hands within this process before other processes get their turn.
     *
     * @param times 1 (not at all) to 1024; 32 by default
     * @return a copy with it
     */
    public Options cohortMax(int times) {
        return set("cohort_max", Integer.toString(times));
    }

    /**
     * For how long a lock may change hands within this process before other processes get their turn.
     *
     * @param age 1 ms to 10 s; 50 ms by default
     * @return a copy with it
     */
    public Options cohortAge(Duration age) {
        return set("cohort_age", age);
    }

    /**
     * The most connections on which blocking calls make their round trip themselves.
     *
     * @param connections 0 (none) to 64; 4 by default
     * @return a copy with it
     */
    public Options blockingConnections(int connections) {
        return set("blocking_connections", Integer.toString(connections));
    }

    /**
     * The worker threads of libdlock; the first client of the process decides.
     *
     * @param threads 1 to 64; 1 by default
     * @return a copy with it
     */
    public Options runtimeThreads(int threads) {
        return set("runtime_threads", Integer.toString(threads));
    }

    /**
     * Put before every name.
     *
     * @param prefix none by default
     * @return a copy with it
     */
    public Options keyPrefix(String prefix) {
        return set("key_prefix", prefix);
    }

    /**
     * The server's user.
     *
     * @param user none by default
     * @return a copy with it
     */
    public Options user(String user) {
        return set("user", user);
    }

    /**
     * The password.
     *
     * @param password none by default
     * @return a copy with it
     */
    public Options password(String password) {
        return set("password", password);
    }

    /**
     * Reads the password from the environment.
     *
     * @param variable the variable's name
     * @return a copy with it
     */
    public Options passwordEnv(String variable) {
        return set("password_env", variable);
    }

    /**
     * Reads the password from a file.
     *
     * @param path the file
     * @return a copy with it
     */
    public Options passwordFile(String path) {
        return set("password_file", path);
    }

    /**
     * The server's database.
     *
     * @param db 0 to 65535; 0 by default
     * @return a copy with it
     */
    public Options db(int db) {
        return set("db", Integer.toString(db));
    }

    /**
     * The name in the server's {@code CLIENT LIST}.
     *
     * @param name printable ASCII without spaces; {@code libdlock-<version>} by default
     * @return a copy with it
     */
    public Options clientName(String name) {
        return set("client_name", name);
    }

    /** Name and value in turn, as UTF-8. */
    List<byte[]> texts() {
        List<byte[]> texts = new ArrayList<>();
        given.forEach((name, value) -> {
            texts.add(Arguments.textBytes(name, "option's name", "connect"));
            texts.add(Arguments.textBytes(value, "option " + name, "connect"));
        });
        return texts;
    }

    /** The options that were set, the password masked. */
    @Override
    public String toString() {
        Map<String, String> shown = new LinkedHashMap<>(given);
        shown.computeIfPresent("password", (name, value) -> "***");
        return "Options" + shown;
    }
}
