package org.libdlock;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.libdlock.internal.Failure;

/** From the core's errors to exceptions. */
final class Errors {
    private Errors() {}

    /** Called by the native library, for calls that fail at once. */
    @SuppressWarnings("unused")
    private static RuntimeException fromNative(int code, byte[] op, byte @Nullable [] object, byte[] message) {
        return of(new Failure(code, text(op), object == null ? null : text(object), text(message)));
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static RuntimeException of(Failure failure) {
        return of(Kind.of(failure.code()), failure.message(), failure.op(), failure.object());
    }

    private static RuntimeException of(Kind kind, String message, String op, @Nullable String object) {
        return switch (kind) {
            case BUSY -> new AcquireTimeoutException(message, op, object);
            case INVALID_ARGUMENT -> new InvalidArgumentException(message, op, object);
            case INVALID_NAME -> new InvalidNameException(message, op, object);
            case NOT_HELD -> new NotHeldException(message, op, object);
            case LOST -> new LockLostException(message, op, object);
            case DEADLOCK -> new DeadlockException(message, op, object);
            case CONNECTION -> new ConnectionException(message, op, object);
            case OUTCOME_UNKNOWN -> new OutcomeUnknownException(message, op, object);
            case SERVER -> new ServerException(message, op, object);
            case WRONG_TYPE -> new WrongTypeException(message, op, object);
            case OUT_OF_MEMORY -> new ServerOutOfMemoryException(message, op, object);
            case NO_PERMISSION -> new NoPermissionException(message, op, object);
            case CANCELLED -> new CancelledException(message, op, object);
            case CLOSED -> new ClosedException(message, op, object);
            case FORKED -> new ForkedException(message, op, object);
            case CLOCK -> new ClockException(message, op, object);
            case INTERNAL -> new InternalException(message, op, object);
        };
    }
}
