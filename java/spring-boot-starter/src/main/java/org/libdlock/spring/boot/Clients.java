package org.libdlock.spring.boot;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.libdlock.Absent;
import org.libdlock.Client;
import org.libdlock.Dlock;
import org.libdlock.InvalidArgumentException;
import org.libdlock.Options;
import org.libdlock.Rate;
import org.libdlock.RateLimiter;
import org.libdlock.spring.LibdlockConfigurationException;
import org.libdlock.spring.boot.LibdlockProperties.Limiter;

/** What is made of the properties. */
final class Clients {
    private static final String LAZY = "lazy_connect";

    // <api:groups> written by `python3 api/write.py` from api/options.json
    private static final Set<String> GROUPS = Set.of("lock");
    // </api:groups>

    private Clients() {}

    static Client connect(LibdlockProperties properties) {
        String url = properties.getUrl();
        if (url == null || url.isBlank()) {
            throw new LibdlockConfigurationException(
                    "libdlock has no server: the property libdlock.url is not set.",
                    "Set libdlock.url, such as redis://127.0.0.1:6379, or memory:// for tests. To do without a client, set"
                            + " libdlock.enabled=false; to make one of your own, define a bean of the type org.libdlock.Client.");
        }
        Options options = Options.defaults();
        for (Map.Entry<String, String> option : named(properties.getOptions()).entrySet()) {
            options = options.set(option.getKey(), option.getValue());
        }
        if (!url.contains(LAZY + "=") && !named(properties.getOptions()).containsKey(LAZY)) {
            options = options.lazyConnect(true);
        }
        try {
            return Dlock.connect(url, options);
        } catch (InvalidArgumentException wrong) {
            throw new LibdlockConfigurationException(
                    "libdlock cannot use its properties: " + wrong.getMessage(),
                    "Correct libdlock.url, or the option among libdlock.options.",
                    wrong);
        }
    }

    /** As the core calls options: other spellings of properties, and of environment variables, are the same. */
    static Map<String, String> named(Map<String, String> options) {
        Map<String, String> named = new LinkedHashMap<>();
        options.forEach((name, value) -> named.put(named(name), value));
        return named;
    }

    private static String named(String name) {
        String word = name.toLowerCase(Locale.ROOT).replace('-', '_');
        int dot = word.indexOf('.');
        String group = dot < 0 ? "" : word.substring(0, dot);
        return GROUPS.contains(group)
                ? group + "." + word.substring(dot + 1).replace('.', '_')
                : word.replace('.', '_');
    }

    static Map<String, Supplier<RateLimiter>> limiters(Supplier<Client> client, LibdlockProperties properties) {
        Map<String, Supplier<RateLimiter>> limiters = new LinkedHashMap<>();
        properties.getLimiters().forEach((name, limiter) -> {
            Rate rate = rate(name, limiter);
            limiters.put(name, () -> limiter(client.get(), name, rate, limiter));
        });
        return limiters;
    }

    private static RateLimiter limiter(Client client, String name, Rate rate, Limiter limiter) {
        Absent absent =
                switch (limiter.getAbsent()) {
                    case FAIL -> Absent.FAIL;
                    case DENY -> Absent.DENY;
                    case ALLOW -> Absent.ALLOW;
                    case LOCAL_SHARE -> Absent.localShare(limiter.getShareOf());
                };
        Double prefetch = limiter.getPrefetch();
        try {
            return prefetch == null
                    ? client.rateLimiter(name, rate, absent)
                    : client.rateLimiter(name, rate, absent, prefetch);
        } catch (InvalidArgumentException wrong) {
            throw new LibdlockConfigurationException(
                    "libdlock cannot make the rate limiter \"" + name + "\": " + wrong.getMessage(),
                    "Correct the properties libdlock.limiters." + name + ".",
                    wrong);
        }
    }

    private static Rate rate(String name, Limiter limiter) {
        Long tokens = limiter.getTokens();
        Duration per = limiter.getPer();
        if (tokens == null || per == null) {
            String missing = "libdlock.limiters." + name + (tokens == null ? ".tokens" : ".per");
            throw new LibdlockConfigurationException(
                    "the rate limiter \"" + name + "\" has no rate: " + missing + " is not set",
                    "Set " + missing + ", such as " + (tokens == null ? "100" : "1m") + ".");
        }
        return new Rate(tokens, per, limiter.getBurst(), limiter.getAlgorithm());
    }
}
