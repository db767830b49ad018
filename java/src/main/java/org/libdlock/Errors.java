package org.libdlock;

import org.libdlock.internal.Failure;
import org.libdlock.internal.Wire;

/** From the core's errors to exceptions. */
final class Errors {
    private Errors() {}

    /** Called by the native library, for calls that fail at once. */
    @SuppressWarnings("unused")
    private static RuntimeException fromNative(byte[] failure) {
        return of(Wire.failure(failure));
    }

    static RuntimeException of(Failure failure) {
        return switch (Kind.of(failure.code())) {
            // <api:exceptions> written by `python3 api/write.py` from api/errors.json
            case BUSY -> new AcquireTimeoutException(failure);
            case INVALID_ARGUMENT -> new InvalidArgumentException(failure);
            case INVALID_NAME -> new InvalidNameException(failure);
            case NOT_HELD -> new NotHeldException(failure);
            case LOST -> new LockLostException(failure);
            case DEADLOCK -> new DeadlockException(failure);
            case CONNECTION -> new ConnectionException(failure);
            case OUTCOME_UNKNOWN -> new OutcomeUnknownException(failure);
            case SERVER -> new ServerException(failure);
            case WRONG_TYPE -> new WrongTypeException(failure);
            case OUT_OF_MEMORY -> new ServerOutOfMemoryException(failure);
            case NO_PERMISSION -> new NoPermissionException(failure);
            case CANCELLED -> new CancelledException(failure);
            case CLOSED -> new ClosedException(failure);
            case FORKED -> new ForkedException(failure);
            case CLOCK -> new ClockException(failure);
            case INTERNAL -> new InternalException(failure);
            case UNSUPPORTED -> new UnsupportedException(failure);
            case FULL -> new QueueFullException(failure);
            // </api:exceptions>
        };
    }
}
