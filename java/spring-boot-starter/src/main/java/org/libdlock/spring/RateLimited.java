package org.libdlock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Asks a rate limiter before a method of a bean is called, or before a request reaches its handler.
 *
 * <pre>{@code
 * @RateLimited(value = "mails", key = "#user.id", waitTime = "2s")
 * public void send(User user, String text) { ... }
 *
 * @GetMapping("/report/{id}")
 * @RateLimited(value = "reports", key = "getHeader('X-User')", cost = "5")
 * public Report report(@PathVariable long id) { ... }
 * }</pre>
 *
 * <p>On a method of a bean a refused call throws a {@link RateLimitedException}.
 *
 * <p>On a handler of a controller, or on its class for all of its handlers, it limits requests, as {@code docs/http.md} describes: a refused
 * request is answered 429, and without a {@link #key} each client address has its own tokens. Several annotations apply one after the
 * other, those of the class first.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@Repeatable(RateLimits.class)
public @interface RateLimited {
    /**
     * The limiter: one of {@code libdlock.limiters}, or a bean of the type {@link org.libdlock.RateLimiter} with this name. Placeholders
     * are replaced.
     *
     * @return its name
     */
    String value();

    /**
     * A SpEL expression that says whose tokens the call needs; calls for which it yields null or an empty text share the limiter's own.
     *
     * <p>On a method of a bean it sees the parameters by name ({@code #id}) and number ({@code #p0}), and the object as its root. On a
     * handler of a controller its root is the request ({@code getHeader('X-User')}), which is {@code #request} too, and it sees the
     * variables of the path by name. Both see beans ({@code @ids}).
     *
     * @return the expression; empty for the limiter's own tokens, and on a handler for those of the client's address
     */
    String key() default "";

    /**
     * A SpEL expression for how many tokens it costs: a number, or text that is one.
     *
     * @return the expression
     */
    String cost() default "1";

    /**
     * A SpEL expression for whether the call is exempt.
     *
     * @return the expression; empty for none
     */
    String skip() default "";

    /**
     * How long a call waits for its tokens, such as {@code 500ms}. Not on handlers of a controller, whose threads are few. Placeholders are
     * replaced.
     *
     * @return the duration; empty not to wait
     */
    String waitTime() default "";
}
