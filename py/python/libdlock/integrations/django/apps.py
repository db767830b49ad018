"""The application that adds the system checks."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks


class LibdlockConfig(AppConfig):
    """Of `"libdlock.integrations.django"` in `INSTALLED_APPS`."""

    name = "libdlock.integrations.django"
    label = "libdlock"
    verbose_name = "libdlock"

    def ready(self) -> None:
        """Adds the checks."""
        from ._checks import check_settings

        checks.register(check_settings)
