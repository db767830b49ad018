package org.libdlock.spring.boot;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.libdlock.Algorithm;
import org.springframework.boot.context.properties.ConfigurationProperties;

/** The properties {@code libdlock.*}. */
@ConfigurationProperties("libdlock")
public class LibdlockProperties {
    /**
     * Whether there is a client.
     */
    private boolean enabled = true;

    /**
     * Where the server is, such as redis://127.0.0.1:6379.
     */
    private @Nullable String url;

    /**
     * Options of the client by name, such as lease or key-prefix, with the values that they would have in the URL.
     * lazy-connect is true unless it is set here or in the URL: the application starts while the server is away.
     */
    private Map<String, String> options = new LinkedHashMap<>();

    /**
     * Rate limiters by name.
     */
    private Map<String, Limiter> limiters = new LinkedHashMap<>();

    /**
     * Longest time for which the client stays open while locks are held, after all other beans have ended. 0 closes it at once.
     */
    private Duration shutdownGrace = Duration.ofSeconds(5);

    private final Metrics metrics = new Metrics();

    /**
     * Makes properties that have their defaults.
     */
    public LibdlockProperties() {}

    /**
     * Whether there is a client.
     *
     * @return true by default
     */
    public boolean isEnabled() {
        return enabled;
    }

    /**
     * Whether there is a client.
     *
     * @param enabled true by default
     */
    public void setEnabled(boolean enabled) {
        this.enabled = enabled;
    }

    /**
     * Where the server is.
     *
     * @return the URL
     */
    public @Nullable String getUrl() {
        return url;
    }

    /**
     * Where the server is.
     *
     * @param url such as {@code redis://127.0.0.1:6379}
     */
    public void setUrl(@Nullable String url) {
        this.url = url;
    }

    /**
     * Options of the client.
     *
     * @return by name
     */
    public Map<String, String> getOptions() {
        return options;
    }

    /**
     * Options of the client.
     *
     * @param options by name
     */
    public void setOptions(Map<String, String> options) {
        this.options = options;
    }

    /**
     * Rate limiters.
     *
     * @return by name
     */
    public Map<String, Limiter> getLimiters() {
        return limiters;
    }

    /**
     * Rate limiters.
     *
     * @param limiters by name
     */
    public void setLimiters(Map<String, Limiter> limiters) {
        this.limiters = limiters;
    }

    /**
     * Longest time for which the client stays open while locks are held.
     *
     * @return 5 s by default
     */
    public Duration getShutdownGrace() {
        return shutdownGrace;
    }

    /**
     * Longest time for which the client stays open while locks are held.
     *
     * @param shutdownGrace 5 s by default; 0 closes it at once
     */
    public void setShutdownGrace(Duration shutdownGrace) {
        this.shutdownGrace = shutdownGrace;
    }

    /**
     * How the statistics are exported.
     *
     * @return the properties
     */
    public Metrics getMetrics() {
        return metrics;
    }

    /** How the statistics are exported. */
    public static class Metrics {
        /**
         * The label "client" of the metrics, which tells the clients of an application apart.
         */
        private String clientName = "libdlock";

        /**
         * Makes properties that have their defaults.
         */
        public Metrics() {}

        /**
         * The label {@code client}.
         *
         * @return {@code libdlock} by default
         */
        public String getClientName() {
            return clientName;
        }

        /**
         * The label {@code client}.
         *
         * @param clientName {@code libdlock} by default
         */
        public void setClientName(String clientName) {
            this.clientName = clientName;
        }
    }

    /** A rate limiter. */
    public static class Limiter {
        /**
         * Tokens of a period.
         */
        private @Nullable Long tokens;

        /**
         * The period.
         */
        private @Nullable Duration per;

        /**
         * The most tokens at once, with the algorithm gcra; those of a period by default.
         */
        private @Nullable Long burst;

        /**
         * How the rate counts.
         */
        private Algorithm algorithm = Algorithm.GCRA;

        /**
         * What is decided while the server is away: fail, deny, allow, or local-share.
         */
        private WhenAbsent absent = WhenAbsent.FAIL;

        /**
         * Among how many clients the rate is shared while the server is away, with absent local-share.
         */
        private int shareOf = 1;

        /**
         * The share of the burst that is fetched ahead, up to 1; nothing by default.
         */
        private @Nullable Double prefetch;

        /**
         * Makes properties that have their defaults.
         */
        public Limiter() {}

        /**
         * Tokens of a period.
         *
         * @return how many
         */
        public @Nullable Long getTokens() {
            return tokens;
        }

        /**
         * Tokens of a period.
         *
         * @param tokens how many
         */
        public void setTokens(@Nullable Long tokens) {
            this.tokens = tokens;
        }

        /**
         * The period.
         *
         * @return how long
         */
        public @Nullable Duration getPer() {
            return per;
        }

        /**
         * The period.
         *
         * @param per how long
         */
        public void setPer(@Nullable Duration per) {
            this.per = per;
        }

        /**
         * The most tokens at once.
         *
         * @return how many
         */
        public @Nullable Long getBurst() {
            return burst;
        }

        /**
         * The most tokens at once.
         *
         * @param burst how many
         */
        public void setBurst(@Nullable Long burst) {
            this.burst = burst;
        }

        /**
         * How the rate counts.
         *
         * @return the algorithm
         */
        public Algorithm getAlgorithm() {
            return algorithm;
        }

        /**
         * How the rate counts.
         *
         * @param algorithm the algorithm
         */
        public void setAlgorithm(Algorithm algorithm) {
            this.algorithm = algorithm;
        }

        /**
         * What is decided while the server is away.
         *
         * @return the policy
         */
        public WhenAbsent getAbsent() {
            return absent;
        }

        /**
         * What is decided while the server is away.
         *
         * @param absent the policy
         */
        public void setAbsent(WhenAbsent absent) {
            this.absent = absent;
        }

        /**
         * Among how many clients the rate is shared while the server is away.
         *
         * @return how many
         */
        public int getShareOf() {
            return shareOf;
        }

        /**
         * Among how many clients the rate is shared while the server is away.
         *
         * @param shareOf how many
         */
        public void setShareOf(int shareOf) {
            this.shareOf = shareOf;
        }

        /**
         * The share of the burst that is fetched ahead.
         *
         * @return more than 0, and at most 1; or nothing
         */
        public @Nullable Double getPrefetch() {
            return prefetch;
        }

        /**
         * The share of the burst that is fetched ahead.
         *
         * @param prefetch more than 0, and at most 1
         */
        public void setPrefetch(@Nullable Double prefetch) {
            this.prefetch = prefetch;
        }
    }

    /** The policies for a server that is away. */
    public enum WhenAbsent {
        /** An error, or 503. */
        FAIL,
        /** A refusal. */
        DENY,
        /** A grant. */
        ALLOW,
        /** This client goes on with its share. */
        LOCAL_SHARE
    }
}
