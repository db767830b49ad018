"""The application of Spring Boot, as a jar that has everything in it."""

from __future__ import annotations

from apps import App

APPS = [
    App(
        "spring-boot",
        ["java", "-XX:TieredStopAtLevel=1", "-jar", "build/http-java/spring-boot-example.jar"],
        ["tests/http/prepare_java.sh"],
    )
]
