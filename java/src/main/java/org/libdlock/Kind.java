package org.libdlock;

/** The kinds of error with their frozen numbers, the same in every language: {@code tests/vectors/errors.json}. */
enum Kind {
    BUSY(1),
    INVALID_ARGUMENT(-1),
    INVALID_NAME(-2),
    NOT_HELD(-3),
    LOST(-4),
    DEADLOCK(-5),
    CONNECTION(-6),
    OUTCOME_UNKNOWN(-7),
    SERVER(-8),
    WRONG_TYPE(-9),
    OUT_OF_MEMORY(-10),
    NO_PERMISSION(-11),
    CANCELLED(-12),
    CLOSED(-13),
    FORKED(-14),
    CLOCK(-15),
    INTERNAL(-16);

    private final int code;

    Kind(int code) {
        this.code = code;
    }

    int code() {
        return code;
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
