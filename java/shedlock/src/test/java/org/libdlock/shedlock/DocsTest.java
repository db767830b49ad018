package org.libdlock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.libdlock.support.Programs;

/** Compiles the program of docs/java/frameworks.md that is of ShedLock. */
class DocsTest {
    @Test
    void theProgramCompiles(@TempDir Path folder) throws IOException {
        List<String> programs = Programs.of("frameworks.md").stream()
                .filter(program -> program.contains("import org.libdlock.shedlock."))
                .toList();
        assertThat(programs).hasSize(1);
        for (String program : programs) {
            assertThat(Programs.compile(program, Files.createTempDirectory(folder, "program")))
                    .isEmpty();
        }
    }
}
