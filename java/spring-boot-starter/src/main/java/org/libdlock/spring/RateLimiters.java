package org.libdlock.spring;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.libdlock.RateLimiter;
import org.springframework.beans.factory.ListableBeanFactory;

/** The rate limiters of an application by name: those of its properties, and its beans. */
public class RateLimiters {
    private final Map<String, Supplier<RateLimiter>> configured;
    private final ListableBeanFactory beans;
    private final Map<String, RateLimiter> made = new ConcurrentHashMap<>();

    /**
     * All of them; each is made when it is asked for first.
     *
     * @param configured how those of the properties are made
     * @param beans where the others are
     */
    public RateLimiters(Map<String, Supplier<RateLimiter>> configured, ListableBeanFactory beans) {
        this.configured = Map.copyOf(configured);
        this.beans = beans;
    }

    /**
     * The limiter of this name.
     *
     * @param name of {@code libdlock.limiters}, or of a bean
     * @return the same for everybody
     * @throws LibdlockConfigurationException when there is none
     */
    public RateLimiter get(String name) {
        RateLimiter known = made.get(name);
        if (known != null) {
            return known;
        }
        RateLimiter limiter = find(name);
        if (limiter == null) {
            TreeSet<String> names = new TreeSet<>(configured.keySet());
            names.addAll(Arrays.asList(beans.getBeanNamesForType(RateLimiter.class, true, false)));
            throw new LibdlockConfigurationException(
                    "there is no rate limiter \"" + name + "\"; known are " + names,
                    "Set libdlock.limiters." + name + ".tokens and libdlock.limiters." + name
                            + ".per, or define a bean of the type org.libdlock.RateLimiter with this name.");
        }
        RateLimiter first = made.putIfAbsent(name, limiter);
        return first == null ? limiter : first;
    }

    private @Nullable RateLimiter find(String name) {
        Supplier<RateLimiter> one = configured.get(name);
        if (one != null) {
            return one.get();
        }
        return beans.containsBean(name) && beans.isTypeMatch(name, RateLimiter.class)
                ? beans.getBean(name, RateLimiter.class)
                : null;
    }
}
