package org.libdlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.libdlock.support.Jvm;

/** How the native library comes out of the jar. */
class LibraryTest {
    /** Connects twice, and says how that went. */
    static final class Connecting {
        public static void main(String[] args) {
            for (int i = 0; i < 2; i++) {
                try (Client client = Dlock.connect("memory://")) {
                    System.out.println("connected: " + client.lock("x").tryLock());
                } catch (UnsatisfiedLinkError error) {
                    System.out.println(error);
                }
            }
        }
    }

    private static final String CONNECTED = "connected: true\nconnected: true\n";

    @Test
    void everyJniCallOfTheseTestsIsChecked() {
        assertThat(ManagementFactory.getRuntimeMXBean().getInputArguments()).contains("-Xcheck:jni");
    }

    @Test
    void aPlatformWithoutALibraryIsNamedEveryTime() {
        try (Jvm jvm =
                Jvm.with().option("-Dos.arch=sparcv9", "-Dos.name=Plan 9").start(Connecting.class)) {
            assertThat(jvm.end().lines()).hasSize(2).allSatisfy(line -> assertThat(line)
                    .contains("UnsatisfiedLinkError")
                    .contains("plan9-sparcv9"));
        }
    }

    @Test
    void nothingIsLeftInTheFolderThatThePropertyNames(@TempDir Path folder) throws IOException {
        try (Jvm jvm = Jvm.with()
                .option("-Djava.io.tmpdir=/nowhere", "-Dorg.libdlock.native.dir=" + folder)
                .start(Connecting.class)) {
            assertThat(jvm.end()).isEqualTo(CONNECTED);
        }
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void aFolderThatIsNotThereIsNamedWithTheProperty() {
        try (Jvm jvm = Jvm.with().option("-Djava.io.tmpdir=/nowhere").start(Connecting.class)) {
            assertThat(jvm.end())
                    .contains("/nowhere")
                    .contains("org.libdlock.native.dir")
                    .contains("NoSuchFileException");
        }
    }

    @Test
    void aTemporaryFolderWithoutExecutionIsNamedAndCanBeAvoided(@TempDir Path folder) throws Exception {
        Path mounted = Files.createDirectory(folder.resolve("noexec"));
        Process mount = new ProcessBuilder("mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", mounted.toString())
                .redirectErrorStream(true)
                .start();
        assumeThat(mount.waitFor())
                .as("this user may mount a folder without execution")
                .isZero();
        try {
            try (Jvm jvm = Jvm.with().option("-Djava.io.tmpdir=" + mounted).start(Connecting.class)) {
                assertThat(jvm.end())
                        .contains(mounted.toString())
                        .contains("allow to write and to execute")
                        .contains("-Dorg.libdlock.native.dir=");
            }
            try (Jvm jvm = Jvm.with()
                    .option("-Djava.io.tmpdir=" + mounted, "-Dorg.libdlock.native.dir=" + folder)
                    .start(Connecting.class)) {
                assertThat(jvm.end()).isEqualTo(CONNECTED);
            }
        } finally {
            new ProcessBuilder("umount", mounted.toString()).start().waitFor();
        }
    }
}
