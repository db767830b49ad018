package org.libdlock.spring;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.libdlock.AcquireTimeoutException;
import org.libdlock.Client;
import org.libdlock.DistributedLock;
import org.libdlock.LockHandle;
import org.libdlock.UnavailableException;
import org.springframework.expression.BeanResolver;

/** A method with {@link Locked}. */
final class LockedMethod {
    private final Annotated annotated;
    private final Class<?> returned;
    private final String name;
    private final @Nullable Expression key;
    private final @Nullable Duration wait;
    private final @Nullable Duration lease;
    private final boolean isSkipped;

    LockedMethod(Method method, Locked locked, UnaryOperator<String> placeholders) {
        annotated = new Annotated("@Locked", method, placeholders);
        annotated.checkInterceptable();
        annotated.checkReturnType();
        returned = method.getReturnType();
        name = annotated.nonEmpty("value", locked.value());
        key = annotated.expression("key", locked.key());
        wait = annotated.duration("waitTime", locked.waitTime());
        lease = annotated.duration("lease", locked.lease());
        isSkipped = locked.whenBusy() == WhenBusy.SKIP;
        checkSkipped();
    }

    private void checkSkipped() {
        if (isSkipped && returned.isPrimitive() && returned != void.class) {
            throw annotated.wrong(
                    "cannot skip: the method returns " + returned + ", which has no value for nothing",
                    "Return an object or nothing, or let the call throw (WhenBusy.THROW).");
        }
        if (isSkipped && wait == null) {
            throw annotated.wrong(
                    "waits as long as it takes, so that it never skips",
                    "Say how long it waits, such as waitTime = \"0s\".");
        }
    }

    @Nullable
    Object call(MethodInvocation call, Client client, BeanResolver beans) throws Throwable {
        DistributedLock lock = client.lock(lockName(call, beans));
        return annotated.returnsStage() ? callStage(call, lock) : callPlain(call, lock);
    }

    private String lockName(MethodInvocation call, BeanResolver beans) {
        if (key == null) {
            return name;
        }
        String value = key.text(annotated.context(call, beans));
        if (value == null || value.isEmpty()) {
            throw new IllegalArgumentException(key + " yields " + (value == null ? "null" : "an empty text")
                    + ", which does not say whose lock it is");
        }
        return name + ":" + value;
    }

    private @Nullable Object callPlain(MethodInvocation call, DistributedLock lock) throws Throwable {
        try {
            if (!lock.tryLock(wait, lease)) {
                if (isSkipped) {
                    return returned == Optional.class ? Optional.empty() : null;
                }
                throw notInTime(lock, null);
            }
        } catch (InterruptedException interrupted) {
            if (annotated.declares(InterruptedException.class)) {
                throw interrupted;
            }
            throw interrupted(lock, interrupted);
        }
        Object result;
        try {
            result = call.proceed();
        } catch (Throwable thrown) {
            releaseAfter(thrown, lock::unlock);
            throw thrown;
        }
        lock.unlock();
        annotated.checkEnded(result);
        return result;
    }

    /** The hold belongs to no thread, because it ends on the one that completes the stage. */
    private @Nullable Object callStage(MethodInvocation call, DistributedLock lock) throws Throwable {
        LockHandle handle;
        try {
            handle = lock.acquire(wait, lease);
        } catch (AcquireTimeoutException busy) {
            return isSkipped
                    ? CompletableFuture.completedFuture(null)
                    : CompletableFuture.failedFuture(notInTime(lock, busy));
        } catch (InterruptedException interrupted) {
            return CompletableFuture.failedFuture(interrupted(lock, interrupted));
        } catch (UnavailableException away) {
            return CompletableFuture.failedFuture(away);
        }
        Object stage;
        try {
            stage = call.proceed();
        } catch (Throwable thrown) {
            releaseAfter(thrown, handle::close);
            throw thrown;
        }
        if (stage == null) {
            handle.close();
            return null;
        }
        return endingWith((CompletionStage<?>) stage, handle);
    }

    /** Ends as the stage does, after the lock was released. */
    private static <T> CompletableFuture<T> endingWith(CompletionStage<T> stage, LockHandle handle) {
        CompletableFuture<T> result = new CompletableFuture<>();
        stage.whenComplete((value, thrown) -> handle.releaseAsync().whenComplete((nothing, lost) -> {
            if (thrown == null && lost == null) {
                result.complete(value);
            } else if (thrown == null) {
                result.completeExceptionally(lost);
            } else {
                if (lost != null) {
                    thrown.addSuppressed(lost);
                }
                result.completeExceptionally(thrown);
            }
        }));
        // Whoever cancels means the work, and the lock is held until that has ended.
        result.whenComplete((value, thrown) -> {
            if (result.isCancelled() && stage instanceof Future<?> work) {
                work.cancel(true);
            }
        });
        return result;
    }

    private static void releaseAfter(Throwable thrown, Runnable release) {
        try {
            release.run();
        } catch (RuntimeException also) {
            thrown.addSuppressed(also);
        }
    }

    private LockUnavailableException notInTime(DistributedLock lock, @Nullable Throwable cause) {
        String limit = wait == null ? "as long as it may wait" : wait.toMillis() + " ms";
        return new LockUnavailableException(lock.name(), "not acquired within " + limit, cause);
    }

    private static LockUnavailableException interrupted(DistributedLock lock, InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        return new LockUnavailableException(lock.name(), "interrupted while waiting for it", interrupted);
    }
}
