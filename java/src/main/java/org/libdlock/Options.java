package org.libdlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

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
        Arguments.notNull(name, "name");
        Arguments.notNull(value, "value");
        Map<String, String> copy = new LinkedHashMap<>(given);
        copy.put(name, value);
        return new Options(copy);
    }

    Options set(String name, Duration value) {
        long millis = Arguments.millis(value);
        return set(name, millis == Long.MAX_VALUE ? value.toSeconds() + "s" : millis + "ms");
    }

    // <api:options> written by `python3 api/write.py` from api/options.json
    /**
     * TCP connect, handshake and login together.
     *
     * @param timeout 1 ms to 24 h; 5 s by default
     * @return a copy with it
     */
    public Options connectTimeout(Duration timeout) {
        Arguments.notNull(timeout, "timeout");
        return set("connect_timeout", timeout);
    }

    /**
     * How long {@code connect} keeps trying while the server is not up yet; a wrong password ends it at once. An
     * interrupt does not end it.
     *
     * @param wait 0 to 24 h; 0 by default
     * @return a copy with it
     */
    public Options connectWait(Duration wait) {
        Arguments.notNull(wait, "wait");
        return set("connect_wait", wait);
    }

    /**
     * Whether {@code connect} returns at once and connects in the background: a program then starts while its server
     * is away, and calls fail, or wait for the server as long as they may, until it is there. A wrong password is told
     * by the calls and the log.
     *
     * @param lazy false by default
     * @return a copy with it
     */
    public Options lazyConnect(boolean lazy) {
        return set("lazy_connect", Boolean.toString(lazy));
    }

    /**
     * One attempt at one request.
     *
     * @param timeout 1 ms to 24 h; 1 s by default
     * @return a copy with it
     */
    public Options responseTimeout(Duration timeout) {
        Arguments.notNull(timeout, "timeout");
        return set("response_timeout", timeout);
    }

    /**
     * A call that does not wait, such as {@code tryLock()} and {@code unlock()}, including its retries; also an
     * unbounded wait while the server does not answer.
     *
     * @param timeout 1 ms to 24 h; 10 s by default
     * @return a copy with it
     */
    public Options operationTimeout(Duration timeout) {
        Arguments.notNull(timeout, "timeout");
        return set("operation_timeout", timeout);
    }

    /**
     * The lease that the watchdog renews every third of it, for objects opened without {@code watchdogLease}.
     *
     * @param lease 100 ms to 24 h; 30 s by default
     * @return a copy with it
     */
    public Options lease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return set("lease", lease);
    }

    /**
     * The margin of a fixed lease in percent: how much the clocks of client and server may differ in rate. A time
     * daemon slews a clock by up to 8.3 %.
     *
     * @param percent 0 to 50; 1 by default
     * @return a copy with it
     */
    public Options clockDrift(int percent) {
        return set("clock_drift", Integer.toString(percent));
    }

    /**
     * How often the first two waiters of the queue ask by themselves, in case a message is lost; capped at 2 s.
     *
     * @param interval 20 ms to 1 h; 1 s by default
     * @return a copy with it
     */
    public Options pollInterval(Duration interval) {
        Arguments.notNull(interval, "interval");
        return set("poll_interval", interval);
    }

    /**
     * How often the waiters behind the first two ask by themselves.
     *
     * @param interval 20 ms to 1 h; 5 s by default
     * @return a copy with it
     */
    public Options queuePollInterval(Duration interval) {
        Arguments.notNull(interval, "interval");
        return set("queue_poll_interval", interval);
    }

    /**
     * How long a connection may be idle before the client tests it.
     *
     * @param interval 100 ms to 1 h; 5 s by default
     * @return a copy with it
     */
    public Options pingInterval(Duration interval) {
        Arguments.notNull(interval, "interval");
        return set("ping_interval", interval);
    }

    /**
     * As {@link LockDefaults#tokenTtl}.
     *
     * @param ttl 1 s to 366 days; 1 h by default
     * @return a copy with it
     */
    public Options tokenTtl(Duration ttl) {
        Arguments.notNull(ttl, "ttl");
        return set("token_ttl", ttl);
    }

    /**
     * Sets token_ttl to none: see {@link #tokenTtl}.
     *
     * @return a copy with it
     */
    public Options tokenTtlNone() {
        return set("token_ttl", "none");
    }

    /**
     * As {@link LockDefaults#reentrant}.
     *
     * @param reentrant true by default
     * @return a copy with it
     */
    public Options reentrant(boolean reentrant) {
        return set("reentrant", Boolean.toString(reentrant));
    }

    /**
     * As {@link LockDefaults#strictFifo}.
     *
     * @param strict false by default
     * @return a copy with it
     */
    public Options strictFifo(boolean strict) {
        return set("strict_fifo", Boolean.toString(strict));
    }

    /**
     * As {@link LockDefaults#cohortMax}.
     *
     * @param holders 1 to 1024; 32 by default
     * @return a copy with it
     */
    public Options cohortMax(int holders) {
        return set("cohort_max", Integer.toString(holders));
    }

    /**
     * As {@link LockDefaults#cohortAge}.
     *
     * @param age 1 ms to 10 s; 1 ms by default
     * @return a copy with it
     */
    public Options cohortAge(Duration age) {
        Arguments.notNull(age, "age");
        return set("cohort_age", age);
    }

    /**
     * Connections on which blocking calls do their own round trips; 0 is none.
     *
     * @param connections 0 to 64; 4 by default
     * @return a copy with it
     */
    public Options blockingConnections(int connections) {
        return set("blocking_connections", Integer.toString(connections));
    }

    /**
     * How many replicas must have a grant before it counts; a grant that fewer have is released, and the error says
     * how many had it.
     *
     * @param number 0 to 16; 0 by default
     * @return a copy with it
     */
    public Options replicas(int number) {
        return set("replicas", Integer.toString(number));
    }

    /**
     * How long a grant waits for its replicas.
     *
     * @param timeout 1 ms to 10 s; 1 s by default
     * @return a copy with it
     */
    public Options replicaTimeout(Duration timeout) {
        Arguments.notNull(timeout, "timeout");
        return set("replica_timeout", timeout);
    }

    /**
     * Worker threads of libdlock; the first client of the process decides.
     *
     * @param threads 1 to 64; 1 by default
     * @return a copy with it
     */
    public Options runtimeThreads(int threads) {
        return set("runtime_threads", Integer.toString(threads));
    }

    /**
     * Put before every name, as Redisson's NameMapper does.
     *
     * @param prefix none by default
     * @return a copy with it
     */
    public Options keyPrefix(String prefix) {
        Arguments.notNull(prefix, "prefix");
        return set("key_prefix", prefix);
    }

    /**
     * The user that logs in.
     *
     * @param user none by default
     * @return a copy with it
     */
    public Options user(String user) {
        Arguments.notNull(user, "user");
        return set("user", user);
    }

    /**
     * The password of the login; no error and no log shows it.
     *
     * @param password none by default
     * @return a copy with it
     */
    public Options password(String password) {
        Arguments.notNull(password, "password");
        return set("password", password);
    }

    /**
     * The environment variable with the password, read again for each connection; not in a URL.
     *
     * @param variable none by default
     * @return a copy with it
     */
    public Options passwordEnv(String variable) {
        Arguments.notNull(variable, "variable");
        return set("password_env", variable);
    }

    /**
     * The file with the password, read again for each connection; not in a URL.
     *
     * @param path none by default
     * @return a copy with it
     */
    public Options passwordFile(String path) {
        Arguments.notNull(path, "path");
        return set("password_file", path);
    }

    /**
     * The user that logs in to the sentinels.
     *
     * @param user none by default
     * @return a copy with it
     */
    public Options sentinelUser(String user) {
        Arguments.notNull(user, "user");
        return set("sentinel_user", user);
    }

    /**
     * The password of the login to the sentinels; {@code password} is only for the servers.
     *
     * @param password none by default
     * @return a copy with it
     */
    public Options sentinelPassword(String password) {
        Arguments.notNull(password, "password");
        return set("sentinel_password", password);
    }

    /**
     * The environment variable with the password for the sentinels, read again for each connection; not in a URL.
     *
     * @param variable none by default
     * @return a copy with it
     */
    public Options sentinelPasswordEnv(String variable) {
        Arguments.notNull(variable, "variable");
        return set("sentinel_password_env", variable);
    }

    /**
     * The file with the password for the sentinels, read again for each connection; not in a URL.
     *
     * @param path none by default
     * @return a copy with it
     */
    public Options sentinelPasswordFile(String path) {
        Arguments.notNull(path, "path");
        return set("sentinel_password_file", path);
    }

    /**
     * Number of the database.
     *
     * @param db 0 to 65535; 0 by default
     * @return a copy with it
     */
    public Options db(int db) {
        return set("db", Integer.toString(db));
    }

    /**
     * File with the certificates (PEM) of the authorities that may have signed the server's, in place of the system's;
     * read again for each connection.
     *
     * @param path none by default
     * @return a copy with it
     */
    public Options tlsCaFile(String path) {
        Arguments.notNull(path, "path");
        return set("tls_ca_file", path);
    }

    /**
     * File with the client's certificate, and those between it and its authority (PEM); read again for each
     * connection.
     *
     * @param path none by default
     * @return a copy with it
     */
    public Options tlsCertFile(String path) {
        Arguments.notNull(path, "path");
        return set("tls_cert_file", path);
    }

    /**
     * File with the private key of that certificate (PEM, no passphrase); read again for each connection.
     *
     * @param path none by default
     * @return a copy with it
     */
    public Options tlsKeyFile(String path) {
        Arguments.notNull(path, "path");
        return set("tls_key_file", path);
    }

    /**
     * The name or IP address that the server's certificate has to be for, if that is not the host of the URL.
     *
     * @param name none by default
     * @return a copy with it
     */
    public Options tlsServerName(String name) {
        Arguments.notNull(name, "name");
        return set("tls_server_name", name);
    }

    /**
     * Whether any certificate will do: then whoever is on the way to the server can read and change everything, the
     * password included.
     *
     * @param accept false by default
     * @return a copy with it
     */
    public Options tlsDangerAcceptAnyCertificate(boolean accept) {
        return set("tls_danger_accept_any_certificate", Boolean.toString(accept));
    }

    /**
     * With several servers ({@code redis+quorum}): the longest lease of any client; a server that has restarted counts
     * when it has passed. The same for all clients.
     *
     * @param lease 100 ms to 24 h; 60 s by default
     * @return a copy with it
     */
    public Options longestLease(Duration lease) {
        Arguments.notNull(lease, "lease");
        return set("longest_lease", lease);
    }

    /**
     * With several servers ({@code redis+quorum}): whether they keep every write over a restart ({@code appendfsync
     * always}), so that each counts at once.
     *
     * @param survives false by default
     * @return a copy with it
     */
    public Options dataSurvives(boolean survives) {
        return set("data_survives", Boolean.toString(survives));
    }

    /**
     * As the server's {@code CLIENT LIST} shows it.
     *
     * @param name printable ASCII without spaces; {@code libdlock-<version>} by default
     * @return a copy with it
     */
    public Options clientName(String name) {
        Arguments.notNull(name, "name");
        return set("client_name", name);
    }

    /**
     * What holds for every lock of the client. Its options are accepted without it too, as methods here; one option is
     * given in one way.
     *
     * @param lock such as {@code lock -> lock.tokenTtl(...)}
     * @return a copy with it
     */
    public Options lock(UnaryOperator<LockDefaults> lock) {
        Arguments.notNull(lock, "lock");
        return lock.apply(new LockDefaults(this)).options;
    }

    // </api:options>

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
