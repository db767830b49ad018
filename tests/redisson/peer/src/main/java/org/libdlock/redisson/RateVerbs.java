package org.libdlock.redisson;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import org.redisson.api.RFuture;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateLimiterConfig;
import org.redisson.api.RateType;
import org.redisson.api.ratelimiter.RateLimiterArgs;
import org.redisson.client.protocol.RedisCommand;
import org.redisson.client.protocol.RedisCommands;

/**
 * What a thread can do with a rate limiter; a type is {@code OVERALL} or {@code PER_CLIENT}:
 *
 * <pre>
 *   rate-try-set TYPE RATE INTERVAL_MS KEEP_MS       trySetRate; a KEEP_MS of 0 is none
 *   rate-set TYPE RATE INTERVAL_MS KEEP_MS           setRate
 *   rate-update TYPE RATE INTERVAL_MS                updateRate, which keeps what was acquired
 *   rate-take N WAIT_MS                              tryAcquire, with a wait of -1 acquire; "acquired US" or "busy US"
 *   rate-ask N                                       what the wait loop asks once: "none" when it is acquired, or the delay in ms
 *                                                    that it waits then, each with System.currentTimeMillis() before and after
 *   rate-give N                                      release(N)
 *   rate-available                                   availablePermits()
 *   rate-config                                      getConfig(): TYPE RATE INTERVAL_MS
 *   rate-expire MS                                   expire
 *   rate-delete                                      delete()
 * </pre>
 */
final class RateVerbs {
    private RateVerbs() {}

    static String run(RRateLimiter limiter, String verb, List<String> rest) {
        return switch (verb) {
            case "rate-try-set" ->
                String.valueOf(limiter.trySetRate(type(rest), number(rest, 1), ms(rest, 2), ms(rest, 3)));
            case "rate-set" -> {
                limiter.setRate(args(rest).keepAliveTime(ms(rest, 3)));
                yield "set";
            }
            case "rate-update" -> String.valueOf(limiter.updateRate(args(rest).keepState(true)));
            case "rate-take" -> take(limiter, number(rest, 0), number(rest, 1));
            case "rate-ask" -> ask(limiter, number(rest, 0));
            case "rate-give" -> {
                limiter.release(number(rest, 0));
                yield "released";
            }
            case "rate-available" -> String.valueOf(limiter.availablePermits());
            case "rate-config" -> {
                RateLimiterConfig config = limiter.getConfig();
                yield config.getRateType() + " " + config.getRate() + " " + config.getRateInterval();
            }
            case "rate-expire" -> String.valueOf(limiter.expire(ms(rest, 0)));
            case "rate-delete" -> String.valueOf(limiter.delete());
            default -> throw new IllegalArgumentException("cannot read " + verb);
        };
    }

    private static RateType type(List<String> rest) {
        return RateType.valueOf(rest.get(0));
    }

    private static long number(List<String> rest, int at) {
        return Long.parseLong(rest.get(at));
    }

    private static Duration ms(List<String> rest, int at) {
        return Duration.ofMillis(number(rest, at));
    }

    private static RateLimiterArgs args(List<String> rest) {
        return RateLimiterArgs.of(type(rest), number(rest, 1), ms(rest, 2));
    }

    private static String take(RRateLimiter limiter, long permits, long waitMs) {
        boolean acquired = true;
        if (waitMs < 0) limiter.acquire(permits);
        else if (waitMs == 0) acquired = limiter.tryAcquire(permits);
        else acquired = limiter.tryAcquire(permits, Duration.ofMillis(waitMs));
        return (acquired ? "acquired " : "busy ") + Peer.nowUs();
    }

    /** The delay is no part of the interface, but what its waiters go by. */
    @SuppressWarnings("unchecked")
    private static String ask(RRateLimiter limiter, long permits) {
        try {
            Method asks = limiter.getClass().getDeclaredMethod("tryAcquireAsync", RedisCommand.class, Long.class);
            asks.setAccessible(true);
            long before = System.currentTimeMillis();
            RFuture<Long> asked = (RFuture<Long>) asks.invoke(limiter, RedisCommands.EVAL_LONG, permits);
            Long delay = asked.toCompletableFuture().join();
            return (delay == null ? "none" : delay) + " " + before + " " + System.currentTimeMillis();
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
