package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The kinds of error with their frozen numbers, the same in every language: {@code api/errors.json}. */
enum Kind {
    // <api:kinds> written by `python3 api/write.py` from api/errors.json
    BUSY(1, null, true),
    INVALID_ARGUMENT(-1, "USAGE", false),
    INVALID_NAME(-2, "USAGE", false),
    NOT_HELD(-3, "HOLD_ENDED", false),
    LOST(-4, "HOLD_ENDED", false),
    DEADLOCK(-5, "USAGE", false),
    CONNECTION(-6, "UNAVAILABLE", true),
    OUTCOME_UNKNOWN(-7, "UNAVAILABLE", true),
    SERVER(-8, "UNAVAILABLE", true),
    WRONG_TYPE(-9, "USAGE", false),
    OUT_OF_MEMORY(-10, "UNAVAILABLE", true),
    NO_PERMISSION(-11, "UNAVAILABLE", false),
    CANCELLED(-12, null, false),
    CLOSED(-13, null, false),
    FORKED(-14, "USAGE", false),
    CLOCK(-15, null, false),
    INTERNAL(-16, null, false),
    UNSUPPORTED(-17, "USAGE", false);
    // </api:kinds>

    private final int code;
    private final @Nullable String family;
    private final boolean retryable;

    Kind(int code, @Nullable String family, boolean retryable) {
        this.code = code;
        this.family = family;
        this.retryable = retryable;
    }

    int code() {
        return code;
    }

    @Nullable
    String family() {
        return family;
    }

    boolean retryable() {
        return retryable;
    }

    /** The kind with that number; a number of a newer library counts as a defect. */
    static Kind of(int code) {
        for (Kind kind : values()) {
            if (kind.code == code) {
                return kind;
            }
        }
        return INTERNAL;
    }
}
