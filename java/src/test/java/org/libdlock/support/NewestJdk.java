package org.libdlock.support;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/** The newest JDK of this machine: the one that {@code NEWEST_JDK} names, or what lies in /usr/lib/jvm. */
public final class NewestJdk {
    private NewestJdk() {}

    /** Its folder, if its version is at least this. */
    public static Optional<Path> atLeast(int feature) throws IOException {
        String given = System.getenv("NEWEST_JDK");
        Path folder = Path.of("/usr/lib/jvm");
        if (given == null && !Files.isDirectory(folder)) {
            return Optional.empty();
        }
        try (Stream<Path> jdks = given == null ? Files.list(folder) : Stream.of(Path.of(given))) {
            return jdks.filter(jdk -> feature(jdk) >= feature).max(Comparator.comparingInt(NewestJdk::feature));
        }
    }

    private static int feature(Path jdk) {
        Properties release = new Properties();
        try (Reader reader = Files.newBufferedReader(jdk.resolve("release"))) {
            release.load(reader);
            String version = release.getProperty("JAVA_VERSION", "\"0\"").replace("\"", "");
            return Runtime.Version.parse(version).feature();
        } catch (IOException | IllegalArgumentException notAJdk) {
            return 0;
        }
    }
}
