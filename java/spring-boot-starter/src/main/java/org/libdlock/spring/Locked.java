package org.libdlock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method of a bean while the caller holds a lock, among all processes that use the server.
 *
 * <pre>{@code
 * @Locked(value = "account", key = "#account.id")
 * public void settle(Account account) { ... }
 *
 * @Scheduled(cron = "0 0 3 * * *")
 * @Locked(value = "clean", waitTime = "0s", whenBusy = WhenBusy.SKIP)
 * public void clean() { ... }
 * }</pre>
 *
 * <p>The hold is the thread's, as of {@link org.libdlock.DistributedLock#lock()}: a method may call another one that has the same lock. It
 * is released after the method has returned or thrown, and after a transaction of {@code @Transactional} has ended.
 *
 * <p>Of a method that returns a {@link java.util.concurrent.CompletionStage} the call waits for the lock on the caller's thread, and the
 * lock is held until the stage ends. The hold is then nobody's thread, so the method must not acquire the same lock again.
 *
 * <p>It works as other annotations of Spring do: on calls through the bean, and not on calls of an object's own methods.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Locked {
    /**
     * The lock's name, or with a {@link #key} its beginning. Placeholders such as <code>${shop.name}</code> are replaced.
     *
     * @return the name
     */
    String value();

    /**
     * A SpEL expression: the lock is that of the name {@code value:key} then. It sees the parameters by name ({@code #id}) and number
     * ({@code #p0}), beans ({@code @ids}), and the object as its root. What it yields is written as text, and must not be null or empty.
     *
     * @return the expression; empty for one lock for all calls
     */
    String key() default "";

    /**
     * How long a call waits for the lock, such as {@code 500ms}, {@code 10s}, {@code PT1M}; {@code 0s} does not wait. Placeholders are
     * replaced.
     *
     * @return the duration; empty to wait as long as it takes
     */
    String waitTime() default "";

    /**
     * A fixed lease, which is not renewed. Placeholders are replaced.
     *
     * @return the duration; empty for a lease that is renewed for as long as the method runs
     */
    String lease() default "";

    /**
     * What a call does that does not get the lock within its {@link #waitTime()}.
     *
     * @return throw, or skip the method
     */
    WhenBusy whenBusy() default WhenBusy.THROW;
}
