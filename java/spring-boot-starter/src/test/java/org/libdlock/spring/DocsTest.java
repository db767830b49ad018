package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.libdlock.support.Programs;

/** Compiles the programs of docs/java/frameworks.md that are of Spring Boot. */
class DocsTest {
    @Test
    void theProgramsCompile(@TempDir Path folder) throws IOException {
        List<String> programs = Programs.of("frameworks.md").stream()
                .filter(program -> program.contains("import org.libdlock.spring"))
                .toList();
        assertThat(programs).hasSize(3);
        for (String program : programs) {
            assertThat(Programs.compile(program, Files.createTempDirectory(folder, "program")))
                    .isEmpty();
        }
    }
}
