package org.libdlock.redisson;

import org.redisson.config.NameMapper;

/** The mapper that most fleets have: a text before every name. */
record Prefix(String text) implements NameMapper {
    @Override
    public String map(String name) {
        return text + name;
    }

    @Override
    public String unmap(String name) {
        return name.startsWith(text) ? name.substring(text.length()) : name;
    }
}
