package org.libdlock.internal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Loads the native library: out of the jar into a file, because a library can only be loaded from a file. Through the class loader's
 * stream, so that a jar inside a jar will do. The file is gone again as soon as it is loaded.
 */
public final class Library {
    /** The system property that names the folder for the file; the JVM's own temporary folder without it. */
    public static final String FOLDER = "org.libdlock.native.dir";

    /** The folder in which Linux shows the open files of a process. */
    private static final String DESCRIPTORS = "/proc/self/fd";

    private static boolean loaded;
    private static @Nullable String failure;

    private Library() {}

    /**
     * Loads it, once.
     *
     * @throws UnsatisfiedLinkError every time when it is not possible, saying why
     */
    public static synchronized void load() {
        if (loaded) {
            return;
        }
        if (failure == null) {
            String os = System.getProperty("os.name", "?");
            failure = tryToLoad(platform(os, System.getProperty("os.arch", "?"), usesMusl()));
        }
        if (failure != null) {
            throw new UnsatisfiedLinkError(failure);
        }
        loaded = true;
    }

    /** Operating system, C library and processor, as the folders in the jar are called. */
    static String platform(String os, String arch, boolean usesMusl) {
        String name = os.toLowerCase(Locale.ROOT).replace(" ", "");
        String system = name.startsWith("mac") ? "macos" : usesMusl ? name + "-musl" : name;
        String processor =
                switch (arch.toLowerCase(Locale.ROOT)) {
                    case "amd64", "x86_64" -> "x86_64";
                    case "aarch64", "arm64" -> "aarch64";
                    default -> arch.toLowerCase(Locale.ROOT);
                };
        return system + "-" + processor;
    }

    /** Whether this JVM itself is linked with musl, as on Alpine: of the libraries that it has loaded one is musl's loader. */
    private static boolean usesMusl() {
        try (Stream<String> mapped = Files.lines(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1)) {
            return mapped.anyMatch(line -> line.contains("/ld-musl-"));
        } catch (IOException | UncheckedIOException | SecurityException notLinux) {
            return false;
        }
    }

    /** Beside our package, wherever that was moved to; or where it was built, when only the classes have been moved. */
    private static @Nullable InputStream find(String file) {
        String here = Library.class.getPackageName();
        String moved = here.substring(0, here.lastIndexOf('.')).replace('.', '/');
        InputStream beside = Library.class.getResourceAsStream("/" + moved + file);
        // In parts, because shading changes what looks like our package.
        return beside != null
                ? beside
                : Library.class.getResourceAsStream(String.join("/", "", "org", "libdlock") + file);
    }

    /** The length and the checksum of the file. */
    private static String copied(InputStream library, Path copy) throws IOException {
        CheckedInputStream checked = new CheckedInputStream(library, new CRC32());
        long length = Files.copy(checked, copy, StandardCopyOption.REPLACE_EXISTING);
        return length + "-" + Long.toHexString(checked.getChecksum().getValue());
    }

    /**
     * Loads the copy, or what another class loader of this JVM has loaded of the same: the system maps a file once for a process, by
     * whatever name, and never unmaps this one. Without that each application that is deployed anew would leave a library behind.
     */
    private static void load(Path copy, String content) throws IOException {
        // The library binds itself to the classes of one package.
        String property = Library.class.getName() + "." + content;
        if (loadAnothers(System.getProperty(property, ""), copy)) {
            return;
        }
        String real = copy.toRealPath().toString();
        System.load(real);
        if (!Files.isDirectory(Path.of(DESCRIPTORS))) {
            return;
        }
        try {
            long descriptor = Native.libraryKeep(real.getBytes(StandardCharsets.UTF_8));
            System.setProperty(property, descriptor + " " + real);
        } catch (RuntimeException notKept) {
            // Others load a copy, as this one did.
            Log.debug("the native library's file cannot be kept open", notKept);
        }
    }

    /** False where there is none, or where there is no way to it, as on macOS. */
    private static boolean loadAnothers(String kept, Path copy) throws IOException {
        int space = kept.indexOf(' ');
        Path descriptor = Path.of(DESCRIPTORS, space < 0 ? "" : kept.substring(0, space));
        if (space < 0 || !isFile(descriptor, kept.substring(space + 1))) {
            return false;
        }
        // By another name: the JVM loads each name for one class loader only.
        Path link = copy.resolveSibling(copy.getFileName() + ".so");
        try {
            Files.createSymbolicLink(link, descriptor);
            System.load(link.toAbsolutePath().toString());
            return true;
        } catch (IOException | UnsatisfiedLinkError | UnsupportedOperationException refused) {
            Log.debug("the library of another class loader cannot be loaded once more", refused);
            return false;
        } finally {
            Files.deleteIfExists(link);
        }
    }

    /** Whether the descriptor is still that of the library, and not of a file that was opened later. */
    private static boolean isFile(Path descriptor, String name) {
        try {
            return Files.readSymbolicLink(descriptor).toString().equals(name + " (deleted)");
        } catch (IOException | UnsupportedOperationException | SecurityException none) {
            return false;
        }
    }

    /** Null, or why not. */
    private static @Nullable String tryToLoad(String platform) {
        String suffix = platform.startsWith("macos") ? ".dylib" : ".so";
        String file = "/native/" + platform + "/libdlock_jni" + suffix;
        String given = System.getProperty(FOLDER);
        String folder = given == null ? System.getProperty("java.io.tmpdir", "/tmp") : given;
        try (InputStream library = find(file)) {
            if (library == null) {
                return "libdlock's jar has no native library for " + platform + ", which is what this JVM runs on;"
                        + " there are some for Linux and macOS on x86-64 and arm64";
            }
            Path copy = Files.createTempFile(Path.of(folder), "libdlock-", suffix);
            try {
                load(copy, copied(library, copy));
            } finally {
                // The system keeps what is loaded; nothing is left behind, not even by a JVM that is killed.
                Files.deleteIfExists(copy);
            }
            return null;
        } catch (IOException | InvalidPathException | UnsatisfiedLinkError error) {
            return "libdlock's native library for " + platform + " cannot be loaded from the folder " + folder
                    + " (it must allow to write and to execute; -D" + FOLDER + "=FOLDER names another): " + error;
        }
    }
}
