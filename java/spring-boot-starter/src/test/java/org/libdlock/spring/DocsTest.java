package org.libdlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles the programs of docs/java/frameworks.md that are of Spring Boot. */
class DocsTest {
    private static final Pattern PROGRAM = Pattern.compile("^```java\n(.*?)^```$", Pattern.DOTALL | Pattern.MULTILINE);

    @Test
    void theProgramsCompile(@TempDir Path folder) throws IOException {
        String page = Files.readString(Path.of(System.getProperty("root"), "docs/java/frameworks.md"));
        List<String> programs = PROGRAM.matcher(page)
                .results()
                .map(found -> found.group(1))
                .filter(program -> program.contains("import org.libdlock.spring"))
                .toList();
        assertThat(programs).hasSize(3);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (var files = compiler.getStandardFileManager(null, null, null)) {
            for (int at = 0; at < programs.size(); at++) {
                Path own = Files.createDirectory(folder.resolve("p" + at));
                Path file = Files.writeString(own.resolve("Page.java"), programs.get(at));
                StringWriter said = new StringWriter();
                List<String> options = List.of("-d", own.toString(), "-parameters", "-proc:none");
                boolean isGood = compiler.getTask(said, files, null, options, null, files.getJavaFileObjects(file))
                        .call();
                assertThat(isGood).as(said.toString()).isTrue();
            }
        }
    }
}
